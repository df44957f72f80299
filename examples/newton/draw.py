"""Draws spheres, boxes and capsules on a floor, with shadows: rays against each shape, in NumPy."""

import numpy as np

SPHERE, BOX, CAPSULE = range(3)


def turned(q, v):
    """Return vectors turned by quaternions (x, y, z, w)."""
    u, w = q[..., :3], q[..., 3:]
    return v + 2 * np.cross(u, np.cross(u, v) + w * v)


def hits(kind, scale, center, q, origin, rays):
    """Return how far along each ray a shape is, and its normal there."""
    back = q * [-1, -1, -1, 1]
    o, d = turned(back, origin - center), turned(back, rays)
    o = np.broadcast_to(o, d.shape)
    with np.errstate(all="ignore"):
        if kind == BOX:
            near, far = (-scale - o) / d, (scale - o) / d
            t0, t1 = np.minimum(near, far), np.maximum(near, far)
            t = t0.max(-1)
            t = np.where(t <= t1.min(-1), t, np.inf)
            normal = np.where(t0 == t[..., None], -np.sign(d), 0.0)
        else:
            half = scale[1] if kind == CAPSULE else 0.0
            t, normal = np.full(d.shape[:-1], np.inf), np.zeros(d.shape)
            if kind == CAPSULE:
                a, b, c = (
                    (d[..., :2] ** 2).sum(-1),
                    (o[..., :2] * d[..., :2]).sum(-1),
                    (o[..., :2] ** 2).sum(-1) - scale[0] ** 2,
                )
                t = (-b - np.sqrt(b * b - a * c)) / a
                p = o + t[..., None] * d
                t = np.where(np.abs(p[..., 2]) <= half, t, np.inf)
                normal = p * [1, 1, 0] / scale[0]
            for end in {half, -half}:
                e = o - [0, 0, end]
                a, b, c = (d * d).sum(-1), (e * d).sum(-1), (e * e).sum(-1) - scale[0] ** 2
                s = (-b - np.sqrt(b * b - a * c)) / a
                nearer = s < t
                t = np.where(nearer, s, t)
                normal = np.where(nearer[..., None], (e + s[..., None] * d) / scale[0], normal)
    t = np.where(np.isfinite(t) & (t > 0), t, np.inf)
    return t, turned(q, normal)


class Camera:
    """A camera, or, without a focal length, a light that is far away."""

    def __init__(self, eye, target, size, focal=None, width=None):
        self.eye, self.size, self.focal = np.asarray(eye, float), size, focal
        self.forward = self._unit(np.asarray(target, float) - self.eye)
        self.right = self._unit(np.cross(self.forward, [0, 0, 1]))
        self.up = np.cross(self.right, self.forward)
        self.scale = focal * size[0] if focal else size[0] / width

    @staticmethod
    def _unit(v):
        return v / np.linalg.norm(v)

    def project(self, points):
        """Return pixels (column, row) and depths."""
        d = points - self.eye
        depth = d @ self.forward
        shrink = self.scale / (depth if self.focal else 1.0)
        return np.stack([self.size[0] / 2 + d @ self.right * shrink, self.size[1] / 2 - d @ self.up * shrink], -1), depth

    def rays(self, columns, rows):
        """Return the origins and directions of the rays through pixels."""
        x, y = (columns + 0.5 - self.size[0] / 2) / self.scale, (self.size[1] / 2 - rows - 0.5) / self.scale
        across = x[..., None] * self.right + y[..., None] * self.up
        return (
            (self.eye, self.forward + across)
            if self.focal
            else (self.eye + across, np.broadcast_to(self.forward, across.shape))
        )

    def seen(self, shapes):
        """Return, by pixel, the depth of the nearest shape, which it is, and its normal."""
        w, h = self.size
        depth, which, normal = np.full((h, w), np.inf), np.full((h, w), -1), np.zeros((h, w, 3))
        for i, (kind, scale, center, q) in enumerate(shapes):
            radius = np.linalg.norm(scale) if kind == BOX else scale[0] + (scale[1] if kind == CAPSULE else 0)
            (x, y), z = self.project(center)
            reach = 1.1 * radius * self.scale / (z if self.focal else 1.0) + 1
            x0, x1, y0, y1 = (int(v) for v in np.clip([x - reach, x + reach + 1, y - reach, y + reach + 1], 0, [w, w, h, h]))
            if x0 >= x1 or y0 >= y1:
                continue
            columns, rows = np.meshgrid(np.arange(x0, x1), np.arange(y0, y1))
            t, n = hits(kind, np.asarray(scale), center, q, *self.rays(columns, rows))
            window = np.s_[y0:y1, x0:x1]
            nearer = t < depth[window]
            depth[window][nearer], which[window][nearer], normal[window][nearer] = t[nearer], i, n[nearer]
        return depth, which, normal


def picture(shapes, colors, camera, light, floor=(0.93, 0.94, 0.96), sky=(1.0, 1.0, 1.0)):
    """Return an image (rows, columns, 3) in [0, 1] of shapes ``(kind, scale, center, quaternion)`` on the floor z = 0."""
    depth, which, normal = camera.seen(shapes)
    columns, rows = np.meshgrid(np.arange(camera.size[0]), np.arange(camera.size[1]))
    origin, rays = camera.rays(columns, rows)
    with np.errstate(all="ignore"):
        ground = -origin[2] / rays[..., 2]
    on_floor = (ground > 0) & (ground < depth)
    t = np.where(on_floor, ground, depth)
    points = origin + np.where(np.isfinite(t), t, 0)[..., None] * rays
    normal[on_floor] = [0, 0, 1]
    color = np.where(on_floor[..., None], floor, np.asarray(colors)[which])
    shadow_map = light.seen(shapes)[0]
    lit = np.zeros(depth.shape)
    pixel, z = light.project(points + normal * 0.01)
    for dx, dy in ((-1.5, -0.5), (0.5, -1.5), (1.5, 0.5), (-0.5, 1.5), (0, 0)):
        column = np.clip(pixel[..., 0] + dx, 0, light.size[0] - 1).astype(int)
        row = np.clip(pixel[..., 1] + dy, 0, light.size[1] - 1).astype(int)
        lit += (shadow_map[row, column] > z - 0.02) / 5
    facing = np.clip(-(normal @ light.forward), 0, 1)
    from_sky = 0.5 + 0.5 * normal[..., 2]
    bright = 0.18 + 0.3 * from_sky + 0.62 * facing * lit
    bright = np.where(on_floor, 0.62 + 0.38 * lit, bright)
    image = color * bright[..., None]
    fade = np.clip((t - 0.75 * np.median(t[np.isfinite(t)])) / (3.5 * np.median(t[np.isfinite(t)])), 0, 1)[..., None]
    fade = np.where(on_floor[..., None], fade, 0)
    image = image * (1 - fade) + np.asarray(sky) * fade
    return np.clip(np.where(np.isfinite(t)[..., None], image, sky), 0, 1)


def ramp(values, high):
    """Return colours for numbers from 0 to `high`: from blue over white-grey to red."""
    stops = np.array([[0.23, 0.42, 0.70], [0.42, 0.66, 0.81], [0.90, 0.84, 0.66], [0.93, 0.56, 0.33], [0.76, 0.20, 0.22]])
    at = np.clip(np.asarray(values, float) / high, 0, 1) * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    return stops[low] + (at - low)[:, None] * (stops[low + 1] - stops[low])
