//! Charts, as SVG and as PNG from one and the same drawing.
//!
//! The font comes with the program: no font of the system is looked for, so that a chart is the same everywhere.

use std::cmp::Ordering;
use std::ops::Range;

use anyhow::{Context, Result, anyhow};
use plotters::backend::BitMapBackend;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Pixels of the SVG; the PNG has [`FINER`] times as many each way.
const SIZE: (u32, u32) = (760, 420);
const FINER: u32 = 2;
/// Room for the names of the series, to the right.
const LEGEND: u32 = 150;

const PAPER: RGBColor = RGBColor(255, 255, 255);
const INK: RGBColor = RGBColor(36, 41, 47);
const GRID: RGBColor = RGBColor(221, 225, 230);
/// Colours that the colour-blind can tell apart too (after Okabe and Ito), dark enough for white paper and light enough
/// for black.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(196, 160, 0),
    RGBColor(86, 180, 233),
    RGBColor(140, 86, 75),
    RGBColor(128, 128, 128),
];

/// Lines over numbers.
#[derive(Debug, Clone)]
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// A line without points keeps its colour from the next one, and is not named.
    pub series: Vec<Series>,
}

#[derive(Debug, Clone)]
pub struct Axis {
    /// The label of the axis, with the unit.
    pub label: String,
    /// Logarithmic: points at or below zero are left out.
    pub log: bool,
}

#[derive(Debug, Clone)]
pub struct Series {
    pub name: String,
    /// The points; those that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// Stacked horizontal bars, one for each group.
#[derive(Debug, Clone)]
pub struct Bars {
    pub title: String,
    /// The label of the axis, with the unit.
    pub label: String,
    pub groups: Vec<String>,
    /// For each series a name, and a number for each group.
    pub series: Vec<(String, Vec<f64>)>,
}

impl Chart {
    /// Draws the text of an SVG file.
    pub fn svg(&self) -> Result<String> {
        svg(self)
    }

    /// Draws the bytes of a PNG file.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn png(&self) -> Result<Vec<u8>> {
        png(self)
    }
}

impl Bars {
    /// Draws the text of an SVG file.
    pub fn svg(&self) -> Result<String> {
        svg(self)
    }

    /// Draws the bytes of a PNG file.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn png(&self) -> Result<Vec<u8>> {
        png(self)
    }
}

type Drawn<T, B> = Result<T, DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// A figure that can be drawn; `finer` multiplies every length.
trait Figure {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, finer: u32) -> Drawn<(), B>;
}

fn svg(figure: &impl Figure) -> Result<String> {
    prepare_font()?;
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    figure.draw(&area, 1).and_then(|()| area.present()).map_err(|error| anyhow!("cannot draw a chart: {error}"))?;
    drop(area);
    Ok(text)
}

fn png(figure: &impl Figure) -> Result<Vec<u8>> {
    prepare_font()?;
    let (width, height) = (SIZE.0 * FINER, SIZE.1 * FINER);
    let mut pixels = vec![0; width as usize * height as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        let drawn = figure.draw(&area, FINER).and_then(|()| area.present());
        drawn.map_err(|error| anyhow!("cannot draw a chart: {error}"))?;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels).context("cannot encode a PNG")?;
    Ok(bytes)
}

fn prepare_font() -> Result<()> {
    plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| anyhow!("the font that comes with the program cannot be read"))
}

impl Figure for Chart {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, finer: u32) -> Drawn<(), B> {
        let is_shown = |&(x, y): &(f64, f64)| {
            [(x, &self.x), (y, &self.y)].iter().all(|(value, axis)| value.is_finite() && (!axis.log || *value > 0.0))
        };
        let lines: Vec<Vec<(f64, f64)>> =
            self.series.iter().map(|series| series.points.iter().copied().filter(is_shown).collect()).collect();
        let x = Scale::around(lines.iter().flatten().map(|point| point.0), self.x.log);
        let y = Scale::around(lines.iter().flatten().map(|point| point.1), self.y.log);

        let [plot, legend] = split(area, finer)?;
        let [small, size] = [11 * finer as i32, 3 * finer as i32];
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, title_font(&self.title, finer).color(&INK))
            .margin(10 * finer)
            .x_label_area_size(44 * finer)
            .y_label_area_size(70 * finer)
            .build_cartesian_2d(x, y)?;
        mesh(&mut chart, &self.x.label, &self.y.label, true, finer)?;
        // Named from top to bottom as the lines end, as far right as they do.
        let mut order: Vec<usize> = (0..lines.len()).filter(|&i| !lines[i].is_empty()).collect();
        let end = |i: &usize| lines[*i].last().map_or((0.0, 0.0), |&(x, y)| (x, y));
        order.sort_by(|a, b| end(b).partial_cmp(&end(a)).unwrap_or(Ordering::Equal));
        for (row, &i) in order.iter().enumerate() {
            let (line, series) = (&lines[i], &self.series[i]);
            let style = COLOURS[i % COLOURS.len()].stroke_width(2 * finer);
            let row = row as u32;
            if i < COLOURS.len() {
                chart.draw_series(LineSeries::new(line.iter().copied(), style))?;
            } else {
                chart.draw_series(DashedLineSeries::new(line.iter().copied(), 6 * finer, 4 * finer, style))?;
            }
            chart.plotting_area().strip_coord_spec();
            for point in line {
                let at = chart.backend_coord(point);
                marker(area, at, i, size)?;
            }
            let at = (0, ((30 + 18 * row) * finer) as i32);
            let to = (at.0 + 2 * small, at.1);
            if i < COLOURS.len() {
                legend.draw(&PathElement::new([at, to], style))?;
            } else {
                legend.draw(&DashedPathElement::new([at, to], 6 * finer, 4 * finer, style))?;
            }
            let (from, _) = legend.get_pixel_range();
            marker(area, (from.start + small, at.1), i, size)?;
            name(&legend, &series.name, (to.0 + small / 2, at.1), finer)?;
        }
        if order.is_empty() {
            let (xs, ys) = chart.plotting_area().get_pixel_range();
            let style = font(13, finer).into_text_style(area).color(&INK).pos(Pos::new(HPos::Center, VPos::Center));
            area.draw(&Text::new(
                "nothing measured",
                (i32::midpoint(xs.start, xs.end), i32::midpoint(ys.start, ys.end)),
                style,
            ))?;
        }
        Ok(())
    }
}

impl Figure for Bars {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, finer: u32) -> Drawn<(), B> {
        let number = |values: &[f64], group: usize| values.get(group).copied().filter(|x| *x > 0.0 && x.is_finite());
        let sum = |group| self.series.iter().filter_map(|(_, values)| number(values, group)).sum::<f64>();
        let x = Scale::around((0..self.groups.len()).map(sum).chain([0.0]), false);
        let y = Scale::names(&self.groups);

        let [plot, legend] = split(area, finer)?;
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, title_font(&self.title, finer).color(&INK))
            .margin(10 * finer)
            .x_label_area_size(44 * finer)
            .y_label_area_size(130 * finer)
            .build_cartesian_2d(x, y)?;
        mesh(&mut chart, &self.label, "", false, finer)?;
        let mut starts = vec![0.0; self.groups.len()];
        let mut row = 0;
        for (i, (series, values)) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            // Of two series with one colour the later is paler.
            let style = (if i < COLOURS.len() { colour } else { paler(colour) }).filled();
            let mut is_shown = false;
            for (group, start) in starts.iter_mut().enumerate() {
                let Some(value) = number(values, group) else { continue };
                // The first group on top.
                let at = (self.groups.len() - 1 - group) as f64;
                chart.draw_series([Rectangle::new([(*start, at - 0.3), (*start + value, at + 0.3)], style)])?;
                *start += value;
                is_shown = true;
            }
            if is_shown {
                let at = (0, (30 + 18 * row) * finer as i32);
                let half = 5 * finer as i32;
                legend.draw(&Rectangle::new([(at.0, at.1 - half), (at.0 + 2 * half, at.1 + half)], style))?;
                name(&legend, series, (at.0 + 3 * half, at.1), finer)?;
                row += 1;
            }
        }
        Ok(())
    }
}

/// Splits the area into the plot and the room for names beside it.
fn split<B: DrawingBackend>(area: &DrawingArea<B, Shift>, finer: u32) -> Drawn<[DrawingArea<B, Shift>; 2], B> {
    area.fill(&PAPER)?;
    Ok(area.split_horizontally((SIZE.0 - LEGEND) * finer).into())
}

fn paler(RGBColor(r, g, b): RGBColor) -> RGBColor {
    let [r, g, b] = [r, g, b].map(|part| u8::midpoint(part, 255));
    RGBColor(r, g, b)
}

/// Returns the font of a title: smaller where the title is long, so that it fits above the plot.
fn title_font(title: &str, finer: u32) -> FontDesc<'static> {
    font((1100 / title.chars().count().max(1) as u32).clamp(10, 18), finer)
}

fn font(points: u32, finer: u32) -> FontDesc<'static> {
    ("sans-serif", points * finer).into_font()
}

fn mesh<B: DrawingBackend>(
    chart: &mut ChartContext<B, Cartesian2d<Scale, Scale>>,
    x: &str,
    y: &str,
    across: bool,
    finer: u32,
) -> Drawn<(), B> {
    let mut mesh = chart.configure_mesh();
    if !across {
        mesh.disable_y_mesh();
    }
    mesh.axis_style(INK)
        .bold_line_style(GRID.stroke_width(finer))
        .light_line_style(TRANSPARENT)
        .label_style(font(13, finer).color(&INK))
        .axis_desc_style(font(14, finer).color(&INK))
        .x_desc(x)
        .y_desc(y)
        .draw()
}

/// Draws a circle, square or triangle: a line with the colour of another differs in shape, and is dashed.
fn marker<B: DrawingBackend>(area: &DrawingArea<B, Shift>, at: (i32, i32), series: usize, size: i32) -> Drawn<(), B> {
    let style = COLOURS[series % COLOURS.len()].filled();
    match series / COLOURS.len() {
        0 => area.draw(&Circle::new(at, size, style)),
        1 => area.draw(&Rectangle::new([(at.0 - size, at.1 - size), (at.0 + size, at.1 + size)], style)),
        _ => area.draw(&TriangleMarker::new(at, 2 * size, style)),
    }
}

fn name<B: DrawingBackend>(legend: &DrawingArea<B, Shift>, text: &str, at: (i32, i32), finer: u32) -> Drawn<(), B> {
    let style = font(13, finer).into_text_style(legend).color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    legend.draw(&Text::new(text.to_owned(), at, style))
}

/// An axis with its marks.
#[derive(Clone)]
struct Scale {
    range: Range<f64>,
    log: bool,
    marks: Vec<f64>,
    /// The names in place of the numbers 0, 1, 2, ...
    names: Vec<String>,
}

impl Scale {
    /// Creates an axis that shows all of `values`; zero too, unless it is logarithmic.
    fn around(values: impl Iterator<Item = f64>, log: bool) -> Self {
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        if least > most {
            let range = if log { 1.0..10.0 } else { 0.0..1.0 };
            return Self { marks: vec![range.start, range.end], range, log, names: Vec::new() };
        }
        if log {
            // A decade at least, which has three marks.
            let room = f64::max(1.15, (10.0 * least / most).sqrt());
            let range = (least / room).max(f64::MIN_POSITIVE)..(most * room).min(f64::MAX);
            return Self { marks: log_marks(&range), range, log, names: Vec::new() };
        }
        let (least, most) = (least.min(0.0), most.max(0.0));
        let span = if most > least { most - least } else { 1.0 };
        let range = (if least < 0.0 { least - 0.05 * span } else { 0.0 })..most + 0.05 * span;
        Self { marks: linear_marks(&range), range, log, names: Vec::new() }
    }

    /// Creates an axis of names, the first on top.
    fn names(names: &[String]) -> Self {
        Self {
            range: -0.6..names.len() as f64 - 0.4,
            log: false,
            marks: (0..names.len()).map(|i| i as f64).collect(),
            names: names.iter().rev().cloned().collect(),
        }
    }
}

/// Returns marks at powers of ten: every second, third, ... of them where there are many, with 2 and 5 between where
/// there are few.
fn log_marks(range: &Range<f64>) -> Vec<f64> {
    let (first, last) = (range.start.log10().floor() as i32, range.end.log10().ceil() as i32);
    let step = (last - first) / 8 + 1;
    let digits: &[f64] = match range.end.log10() - range.start.log10() {
        few if few < 2.5 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let powers = (first..=last).filter(|power| power.rem_euclid(step) == 0);
    powers
        .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)))
        .filter(|mark| range.contains(mark))
        .collect()
}

/// Returns marks at multiples of 1, 2 or 5 times a power of ten, about six of them.
fn linear_marks(range: &Range<f64>) -> Vec<f64> {
    let rough = (range.end - range.start) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough).unwrap_or(10.0);
    let first = (range.start / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|mark| *mark <= range.end).take(20).collect()
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let place = |x: f64| if self.log { x.ln() } else { x };
        let [start, end] = [self.range.start, self.range.end].map(place);
        from + (f64::from(to - from) * (place(*value) - start) / (end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        match self.names.get(value.round() as usize) {
            Some(name) => name.clone(),
            None => number(*value),
        }
    }
}

/// Writes the number of a mark: `0.05`, `20`, `1,000,000`, `1e12`.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-4..1e9).contains(&size) => format!("{value:.0e}"),
        // Rounding errors of sums are not part of a mark.
        size if size < 1.0 => format!("{value:.6}").trim_end_matches('0').to_owned(),
        size if size < 1000.0 => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        size => format!("{}{}", if value < 0.0 { "-" } else { "" }, crate::text::count(size.round() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)], log: bool) -> Chart {
        Chart {
            title: "Time & <size>".to_owned(),
            x: Axis { label: "boxes".to_owned(), log },
            y: Axis { label: "ms".to_owned(), log },
            series: vec![
                Series { name: "empty".to_owned(), points: Vec::new() },
                Series { name: "gpu".to_owned(), points: points.to_vec() },
            ],
        }
    }

    #[test]
    fn any_points_make_a_chart() {
        let hard = [0.0, -1.0, 1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX, f64::MIN];
        let hard: Vec<(f64, f64)> = hard.iter().flat_map(|x| hard.map(|y| (*x, y))).collect();
        for log in [false, true] {
            for points in [&[][..], &[(5.0, 5.0)], &[(1.0, 2.0), (1.0, 2.0)], &[(0.0, 0.0)], &hard] {
                let svg = chart(points, log).svg().unwrap();
                assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
                assert!(svg.contains("Time &amp; &lt;size&gt;"), "{svg}");
                assert!(!svg.contains("empty"), "{svg}");
            }
        }
    }

    #[test]
    fn a_chart_is_drawn_as_svg_and_as_png() {
        let chart = chart(&[(1e3, 0.5), (1e6, 70.0)], true);
        let bars = Bars {
            title: "Stages".to_owned(),
            label: "ms".to_owned(),
            groups: vec!["uniform 1,000".to_owned(), "city 1,000".to_owned()],
            series: vec![("sort".to_owned(), vec![1.0, 2.0]), ("sweep".to_owned(), vec![0.0, f64::NAN])],
        };
        for svg in [chart.svg(), bars.svg()].map(Result::unwrap) {
            assert!(svg.contains("</svg>"));
        }
        for png in [chart.png(), bars.png()].map(Result::unwrap) {
            let size: Vec<u8> = [FINER * SIZE.0, FINER * SIZE.1].into_iter().flat_map(u32::to_be_bytes).collect();
            assert!(png.starts_with(b"\x89PNG") && png[16..24] == size && png.ends_with(b"IEND\xaeB`\x82"));
        }
        assert!(bars.svg().unwrap().contains("sort") && !bars.svg().unwrap().contains("sweep"));
    }

    #[test]
    fn marks_are_round_numbers_and_not_many() {
        assert_eq!(log_marks(&(900.0..1_100_000.0)), [1e3, 1e4, 1e5, 1e6]);
        assert_eq!(log_marks(&(8.0..30.0)), [10.0, 20.0]);
        assert_eq!(linear_marks(&(0.0..1.0)), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        for most in [1e-290, 0.3, 7.0, 1e290] {
            let marks = [Scale::around([most].into_iter(), true).marks, Scale::around([most].into_iter(), false).marks];
            assert!(marks.iter().all(|marks| (2..=9).contains(&marks.len())), "{most}: {marks:?}");
        }
        let many = Scale::around([1e-9, 1e20].into_iter(), true).marks;
        assert!((4..=9).contains(&many.len()), "{many:?}");
        assert_eq!(
            [0.0, 0.05, 2.5, 1e6, -2000.0, 1e12].map(number),
            ["0", "0.05", "2.5", "1,000,000", "-2,000", "1e12"]
        );
    }
}
