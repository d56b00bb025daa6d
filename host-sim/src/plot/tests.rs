use super::*;

fn picture() -> Picture {
    let line = |name: &str, factor: f64, saturated_from: usize| Series {
        name: name.to_owned(),
        points: (0..5)
            .map(|i| Point {
                x: 0.3 + 0.05 * f64::from(i),
                y: ((i as usize) < saturated_from).then(|| Measured {
                    mean: factor * f64::from(i + 1).powi(2),
                    ci95: Some(Interval::around(
                        factor * f64::from(i + 1).powi(2),
                        factor * f64::from(i + 1) / 2.0,
                    )),
                    ..Measured::default()
                }),
            })
            .collect(),
    };
    Picture {
        title: "Mean waiting delay & <more>".to_owned(),
        subtitle: "64x64, uniform sides".to_owned(),
        x_label: "offered load (fraction of the processors)".to_owned(),
        x_scale: Scale::Linear,
        layout: Layout::Page,
        y_label: "mean waiting delay (s)".to_owned(),
        series: vec![
            line("first-fit", 4.0, 3),
            line("adaptive-scan", 3.0, 4),
            line("free-submesh-list", 2.0, 5),
            line("naive", 0.5, 5),
        ],
        ..Picture::default()
    }
}

/// The ring is at its number, also above all means, and has an entry of the legend.
fn svg(picture: &Picture) -> Result<String, String> {
    super::svg(picture).map(|svg| svg.to_string())
}

fn size(picture: &Picture) -> (i32, i32) {
    super::svg(picture).unwrap().size
}

#[test]
fn a_number_of_the_text_is_a_ring_within_the_axes() {
    let plain = svg(&picture()).unwrap();
    assert!(!plain.contains("number in the text"), "{plain}");
    let x = picture().series[0].points[0].x;
    let stated = |y| Stated { series: 0, x, y };
    let mut marked = picture();
    marked.stated = vec![stated(1000.0), stated(20.0)];
    let marked = svg(&marked).unwrap();
    assert_eq!(marked.matches("number in the text").count(), 1, "{marked}");
    let ring = format!("r=\"{}\"", 2 * MARKER);
    let rings: Vec<_> = marked.lines().filter(|line| line.contains(&ring)).collect();
    assert_eq!(rings.len(), 3, "{marked}");
    let height = |line: &str| -> i32 {
        let (_, rest) = line.split_once("cy=\"").unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    // Higher numbers stand higher, below the head of the picture.
    assert!(height(rings[0]) < height(rings[1]), "{rings:?}");
    assert!(height(rings[0]) > 58 * PIXEL, "{rings:?}");
}

#[test]
fn all_texts_are_in_the_picture_and_escaped() {
    let svg = svg(&picture()).unwrap();
    assert!(svg.starts_with("<svg"), "{svg}");
    assert!(
        svg.contains("Mean waiting delay &amp; &lt;more&gt;"),
        "{svg}"
    );
    for text in [
        "first-fit",
        "naive",
        "saturated",
        "95 % confidence",
        "offered load",
        "(s)",
    ] {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
}

#[test]
fn without_a_saturated_point_there_is_no_strip() {
    let mut picture = picture();
    picture.series.truncate(4);
    picture.series.drain(..2);
    assert!(!svg(&picture).unwrap().contains("saturated"));
}

#[test]
fn categories_have_names_and_bars() {
    let mut picture = picture();
    let rectangles = |picture: &Picture| svg(picture).unwrap().matches("<rect").count();
    let with_lines = rectangles(&picture);
    picture.x_scale = Scale::Categories(["U*U", "N*N"].map(str::to_owned).to_vec());
    for series in &mut picture.series {
        series.points.truncate(2);
        for (x, point) in series.points.iter_mut().enumerate() {
            point.x = x as f64;
            point.y = Some(Measured {
                mean: 1.0 + x as f64,
                ci95: Some(Interval::around(1.0 + x as f64, 0.1)),
                ..Measured::default()
            });
        }
    }
    let drawn = svg(&picture).unwrap();
    assert!(drawn.contains("U*U") && drawn.contains("N*N"), "{drawn}");
    // Two rectangles for each of eight bars and of four entries of the legend; the strip's is gone.
    assert_eq!(rectangles(&picture), with_lines - 1 + 2 * (8 + 4));
}

#[test]
fn a_column_has_room_for_every_entry_of_its_legend() {
    let mut picture = picture();
    picture.layout = Layout::Column;
    let (width, two_beside) = size(&picture);
    assert_eq!(width, COLUMN_BODY.0);
    let drawn = svg(&picture).unwrap();
    let dimensions = format!("width=\"{width}\" height=\"{two_beside}\"");
    assert!(drawn.contains(&dimensions), "{drawn}");
    picture.series[0].name = "a name that is too long for half a column".to_owned();
    assert_eq!(size(&picture).1, two_beside + 2 * LEGEND_ROW);
}

#[test]
fn a_mean_that_grows_with_the_run_has_an_arrow() {
    let mut picture = picture();
    let lines = |picture: &Picture| svg(picture).unwrap().matches("<polyline").count();
    let without = lines(&picture);
    assert!(!svg(&picture).unwrap().contains("grows with the run"));
    for point in [0, 2] {
        picture.series[2].points[point].y.as_mut().unwrap().grows = true;
    }
    assert!(svg(&picture).unwrap().contains("grows with the run"));
    // Shaft and head of two points and of the legend's entry.
    assert_eq!(lines(&picture), without + 2 * (2 + 1));
    picture.layout = Layout::Column;
    let with = size(&picture).1;
    picture.series[2]
        .points
        .iter_mut()
        .for_each(|point| point.y = None);
    assert_eq!(
        size(&picture).1,
        with,
        "five and six entries take three rows"
    );
}

/// The attributes of the first text with this content.
fn text<'s>(svg: &'s str, content: &str) -> &'s str {
    let place = svg.find(&format!("\n{content}\n"));
    let before = &svg[..place.unwrap_or_else(|| panic!("{content} is missing in {svg}"))];
    &before[before.rfind("<text").unwrap()..]
}

fn x(text: &str) -> i32 {
    let (_, rest) = text.split_once(" x=\"").unwrap();
    rest.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn the_title_of_the_axis_is_left_of_its_longest_number() {
    let mut picture = picture();
    for factor in [1.0, 1e4, 1e6] {
        for (point, times) in picture.series[0].points.iter_mut().zip(1..) {
            let mean = factor * f64::from(times) / 5.0;
            point.y = Some(Measured {
                mean,
                ..Measured::default()
            });
        }
        picture.series.truncate(1);
        let drawn = svg(&picture).unwrap();
        let title = x(text(&drawn, "mean waiting delay (s)"));
        // Numbers end where they stand.
        let number = format!("{}", factor * 0.8);
        let digits = number.len();
        let begin = x(text(&drawn, &number)) - PIXEL * head::text_width(digits, NAME);
        // The title is drawn upwards, to the right of its place.
        let end = title + PIXEL * AXIS_TITLE;
        assert!(end < begin, "{number}: {title} {begin} in {drawn}");
    }
}

#[test]
fn long_names_and_texts_are_in_the_picture_as_a_whole() {
    let short = size(&picture());
    let mut picture = picture();
    picture.series[0].name = "random:seed=18446744073709551615, easy:reservations=4".to_owned();
    let (wide, height) = size(&picture);
    assert!(wide > short.0 && height == short.1);
    // More lines of the legend, and of saturated points, than the axes are high.
    let series = picture.series[0].clone();
    picture.series.extend(vec![series; 30]);
    assert!(size(&picture).1 >= 34 * LEGEND_ROW);
    picture.subtitle = "a parameter, ".repeat(30);
    let drawn = svg(&picture).unwrap();
    let lines = drawn
        .lines()
        .filter(|line| line.starts_with("a parameter, "));
    let lines: Vec<_> = lines.collect();
    assert!(lines.len() > 1, "{drawn}");
    let longest = lines
        .iter()
        .map(|line| head::text_width(line.len(), 15))
        .max();
    assert!(longest < Some(wide), "{longest:?}");
}

#[test]
fn the_part_of_the_jobs_that_was_refused_stands_at_its_point() {
    let mut picture = picture();
    picture.layout = Layout::Column;
    let without = size(&picture).1;
    assert!(!svg(&picture).unwrap().contains("refused jobs"));
    let point = picture.series[1].points[0].y.as_mut().unwrap();
    point.refused = Some("99.82 %".to_owned());
    let drawn = svg(&picture).unwrap();
    assert!(
        drawn.contains("refused jobs") && drawn.contains("99.82 %"),
        "{drawn}"
    );
    assert!(size(&picture).1 >= without);
}

#[test]
fn a_saturated_point_with_a_mean_is_drawn_at_both_places() {
    let mut picture = picture();
    let markers = |picture: &Picture| svg(picture).unwrap().matches("<circle").count();
    let lines = |picture: &Picture| svg(picture).unwrap().matches("<polyline").count();
    let before = (markers(&picture), lines(&picture));
    picture.series[0].points[1].y.as_mut().unwrap().saturated = true;
    assert_eq!(
        (markers(&picture), lines(&picture)),
        (before.0 + 1, before.1)
    );
}

#[test]
fn nothing_measured_is_still_a_picture() {
    let mut picture = picture();
    for series in &mut picture.series {
        for point in &mut series.points {
            point.y = None;
        }
    }
    let drawn = svg(&picture).unwrap();
    assert!(
        drawn.contains("saturated") && !drawn.contains("NaN"),
        "{drawn}"
    );
    picture.series.clear();
    assert!(svg(&picture).unwrap().contains("mean waiting delay (s)"));
}
