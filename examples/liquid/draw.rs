//! The picture: a slice of the liquid, energies over time, and the radial distribution function.

use std::fmt::Write;

use super::{CUTOFF, Liquid, Vector, difference, square};

/// Pixels of the side of the slice, and of the margin around it.
const SIDE: f64 = 400.0;
const MARGIN: f64 = 32.0;
/// The thickness of the slice.
const THICKNESS: f64 = 0.8;
/// The most points of a line.
const MOST_POINTS: usize = 300;

/// Curves over an axis.
struct Chart<'a> {
    title: &'a str,
    /// The upper end, in pixels.
    top: f64,
    /// The marks of each axis, ascending. The axes end at the first and the last one.
    marks: [&'a [f64]; 2],
    /// The label, colour and points of each curve.
    curves: &'a [(&'a str, &'a str, Vec<[f64; 2]>)],
}

impl Chart<'_> {
    const LEFT: f64 = SIDE + 3.0 * MARGIN;
    const SIZE: [f64; 2] = [400.0, 152.0];

    fn draw(&self, svg: &mut String) -> std::fmt::Result {
        let [width, height] = Self::SIZE;
        let share = |k: usize, at: f64| {
            let (first, last) = (self.marks[k][0], self.marks[k][self.marks[k].len() - 1]);
            (at - first) / (last - first)
        };
        let place = |x: f64, y: f64| (Self::LEFT + width * share(0, x), self.top + height * (1.0 - share(1, y)));
        let (left, bottom) = (Self::LEFT, self.top + height);
        writeln!(svg, "<text x='{left}' y='{}' font-weight='bold'>{}</text>", self.top - 10.0, self.title)?;
        for &mark in self.marks[0] {
            let x = place(mark, 0.0).0;
            writeln!(
                svg,
                "<path d='M{x:.1} {bottom}v4'/><text x='{x:.1}' y='{}' class='x'>{mark}</text>",
                bottom + 18.0
            )?;
        }
        for &mark in self.marks[1] {
            let y = place(0.0, mark).1;
            writeln!(svg, "<path d='M{left} {y:.1}h{width}' class='grid'/>")?;
            writeln!(svg, "<text x='{}' y='{:.1}' class='y'>{mark}</text>", left - 6.0, y + 4.0)?;
        }
        for (label, colour, points) in self.curves {
            let points = points.iter().step_by(points.len().div_ceil(MOST_POINTS).max(1)).map(|&[x, y]| place(x, y));
            let points: Vec<_> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            writeln!(svg, "<polyline points='{}' stroke='{colour}'/>", points.join(" "))?;
            if let Some((_, y)) = points.last().and_then(|point| point.split_once(',')) {
                writeln!(svg, "<text x='{:.1}' y='{y}' fill='{colour}'>{label}</text>", left + width + 6.0)?;
            }
        }
        Ok(())
    }
}

/// Draws the atoms of a slice through the middle of the box, and the neighbours of one of them, also across the box's
/// faces.
fn draw_slice(liquid: &Liquid, svg: &mut String) -> std::fmt::Result {
    let (edge, scale) = (liquid.edge, SIDE / liquid.edge);
    let wrapped = liquid.positions.iter().map(|position| position.map(|x| x.rem_euclid(edge)));
    let atoms: Vec<Vector> = wrapped.filter(|atom| (atom[2] - 0.5 * edge).abs() <= 0.5 * THICKNESS).collect();
    let distance_to =
        |from: Vector| move |to: &Vector| square(&difference(to, &from).map(|x| x - edge * (x / edge).round())).sqrt();
    let from_corner = distance_to([1.4, 1.4, 0.5 * edge]);
    let Some(center) = atoms.iter().copied().min_by(|a, b| from_corner(a).total_cmp(&from_corner(b))) else {
        return Ok(());
    };
    let to_center = distance_to(center);
    let title = "A slice; one atom, and its neighbours within the cutoff";
    writeln!(svg, "<text x='{MARGIN}' y='{}' font-weight='bold'>{title}</text>", MARGIN - 10.0)?;
    writeln!(svg, "<svg x='{MARGIN}' y='{MARGIN}' width='{SIDE}' height='{SIDE}'>")?;
    let mut circles = |at: &Vector, radius: f64, class: &str| {
        for (x, y) in (0..9).map(|k| (at[0] + edge * f64::from(k % 3 - 1), at[1] + edge * f64::from(k / 3 - 1))) {
            if [x, y].iter().all(|at| (-radius..=edge + radius).contains(at)) {
                let [x, y, radius] = [x, edge - y, radius].map(|length| length * scale);
                writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='{radius:.1}' class='{class}'/>")?;
            }
        }
        Ok(())
    };
    circles(&center, CUTOFF, "cutoff")?;
    for atom in &atoms {
        let distance = to_center(atom);
        let class = if distance == 0.0 {
            "center"
        } else if distance < CUTOFF {
            "near"
        } else {
            "far"
        };
        circles(atom, 0.45, class)?;
    }
    writeln!(svg, "</svg><rect x='{MARGIN}' y='{MARGIN}' width='{SIDE}' height='{SIDE}'/>")
}

fn draw(liquid: &Liquid, energies: &[[f64; 4]], density: &[[f64; 2]], svg: &mut String) -> std::fmt::Result {
    let (width, height) = (Chart::LEFT + Chart::SIZE[0] + 84.0, SIDE + 2.0 * MARGIN);
    writeln!(
        svg,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' font-family='sans-serif' font-size='13'>"
    )?;
    let style = "rect, path, polyline { fill: none; stroke-width: 1.5 } rect, path { stroke: #333; stroke-width: 1 } \
        .grid { stroke: #ddd } .x { text-anchor: middle } .y { text-anchor: end } .far { fill: #c3d1e3 } .near { fill: #3b6fb0 } \
        .center { fill: #d1495b } .cutoff { fill: #f6e7c8 }";
    writeln!(svg, "<style>{style}</style><rect width='{width}' height='{height}' style='fill: #fff; stroke: none'/>")?;
    draw_slice(liquid, svg)?;

    let end = energies.last().map_or(1.0, |energies| energies[0].max(super::TIME_STEP));
    let curve = |k: usize| energies.iter().map(|energies| [energies[0], energies[k]]).collect();
    let curves = [("kinetic", "#d1495b", curve(1)), ("total", "#222", curve(3)), ("potential", "#3b6fb0", curve(2))];
    let marks: [&[f64]; 2] = [&[0.0, 0.25 * end, 0.5 * end, 0.75 * end, end], &[-6.0, -3.0, 0.0, 3.0]];
    Chart { title: "Energy per atom (ε) over time", top: MARGIN, marks, curves: &curves }.draw(svg)?;

    let curves = [("g(r)", "#3b6fb0", density.to_vec())];
    let marks: [&[f64]; 2] = [&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[0.0, 1.0, 2.0, 3.0]];
    let top = MARGIN + SIDE - Chart::SIZE[1];
    Chart { title: "Radial distribution function g(r) over distance (σ)", top, marks, curves: &curves }.draw(svg)?;
    writeln!(svg, "</svg>")
}

/// Returns the picture as SVG.
pub fn picture(liquid: &Liquid, energies: &[[f64; 4]], density: &[[f64; 2]]) -> Result<String, std::fmt::Error> {
    let mut svg = String::new();
    draw(liquid, energies, density, &mut svg)?;
    Ok(svg)
}
