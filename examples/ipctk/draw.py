"""Draws triangle meshes with shadows: triangles into a depth buffer, in NumPy."""

import numpy as np


def unit(v):
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-30)


class Camera:
    """A camera, or, without a focal length, a light that is far away."""

    def __init__(self, eye, target, size, focal=None, width=None):
        self.eye, self.size, self.focal = np.asarray(eye, float), size, focal
        self.forward = unit(np.asarray(target, float) - self.eye)
        self.right = unit(np.cross(self.forward, [0, 0, 1]))
        self.up = np.cross(self.right, self.forward)
        self.scale = focal * size[0] if focal else size[0] / width

    def project(self, points):
        """Return pixels (column, row) and depths."""
        d = points - self.eye
        depth = d @ self.forward
        shrink = self.scale / (depth if self.focal else 1.0)
        return np.stack([self.size[0] / 2 + d @ self.right * shrink, self.size[1] / 2 - d @ self.up * shrink], -1), depth

    def seen(self, vertices, faces):
        """Return, by pixel, the depth of the nearest triangle, which it is, and the weights of its corners."""
        w, h = self.size
        depth, which, weights = np.full((h, w), np.inf), np.full((h, w), -1), np.zeros((h, w, 3))
        pixels, depths = self.project(vertices)
        for f, (p, z) in enumerate(zip(pixels[faces], depths[faces])):
            (x0, y0), (x1, y1) = (
                np.clip(np.floor(p.min(0)), 0, self.size).astype(int),
                np.clip(np.ceil(p.max(0)) + 1, 0, self.size).astype(int),
            )
            if x0 >= x1 or y0 >= y1:
                continue
            (ax, ay), (bx, by), (cx, cy) = p
            area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
            if area == 0:
                continue
            x, y = np.arange(x0, x1) + 0.5, np.arange(y0, y1)[:, None] + 0.5
            b = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area
            c = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
            share = np.stack([1 - b - c, b, c], -1)
            at = share @ z
            window = np.s_[y0:y1, x0:x1]
            nearer = (share.min(-1) >= -1e-6) & (at < depth[window])
            depth[window][nearer], which[window][nearer], weights[window][nearer] = at[nearer], f, share[nearer]
        return depth, which, weights


def picture(vertices, faces, colors, camera, light, background=1.0):
    """Return an image (rows, columns, 3) in [0, 1] of a mesh with a colour for each vertex, lit from both sides."""
    normals = np.zeros_like(vertices)
    np.add.at(
        normals,
        faces,
        np.cross(vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]])[:, None],
    )
    depth, which, weights = camera.seen(vertices, faces)
    on = which >= 0
    corners, share = faces[which[on]], weights[on][..., None]
    # Interpolated on screen rather than in space: triangles are small.
    point, color, normal = (np.sum(x[corners] * share, 1) for x in (vertices, colors, unit(normals)))
    normal = unit(normal)
    normal *= -np.sign(np.sum(normal * unit(point - camera.eye), -1, keepdims=True))
    shadow_map = light.seen(vertices, faces)[0]
    pixel, z = light.project(point + 0.012 * normal)
    lit = np.zeros(len(point))
    for dx, dy in ((-2, -1), (1, -2), (2, 1), (-1, 2), (0, 0)):
        column = np.clip(pixel[:, 0] + dx, 0, light.size[0] - 1).astype(int)
        row = np.clip(pixel[:, 1] + dy, 0, light.size[1] - 1).astype(int)
        lit += (shadow_map[row, column] > z - 0.012) / 5
    bright = 0.22 + 0.26 * (0.5 + 0.5 * normal[:, 2]) + 0.62 * np.clip(-(normal @ light.forward), 0, 1) * lit
    image = np.full((*depth.shape, 3), background)
    image[on] = np.clip(color * bright[:, None], 0, 1)
    return image
