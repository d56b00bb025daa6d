//! The page of `reproduce` in a real browser: on a narrow screen claims can be read without
//! scrolling sideways.

use meshalloc_browser::{Window, host_sim};

/// The parts of the tables of claims that are not between the edges of the window, in words.
const OUTSIDE: &str = "(() => { const outside = []; \
    for (const cell of document.querySelectorAll('.claims tbody td')) { \
        const box = cell.getBoundingClientRect(); \
        if (box.width === 0 || box.left < 0 || box.right > document.documentElement.clientWidth) \
            outside.push(cell.textContent + ' ' + box.left + '..' + box.right); } \
    return outside; })()";

#[test]
fn paper_ours_and_verdict_are_within_the_window_at_400_and_at_1400_pixels() {
    let folder = tempfile::tempdir().unwrap();
    host_sim(
        folder.path(),
        "reproduce chuang-wu --figure 2 --replications 10 --save o",
    );
    for width in [400, 1400] {
        let page = folder.path().join("o/chuang-wu.html");
        let Some(window) = Window::open(&page, (width, 1000), "light") else {
            return;
        };
        assert!(window.number("document.querySelectorAll('.claims tbody tr').length") > 10.0);
        let outside = window.eval(OUTSIDE);
        assert_eq!(outside, serde_json::json!([]), "at {width} pixels");
        let page_width = window.number("document.documentElement.scrollWidth");
        assert!(page_width <= f64::from(width), "{page_width} at {width}");
        // On a narrow screen results next to each other have labels.
        let label = "getComputedStyle(document.querySelector('.claims td[data-label]'), '::before').content";
        let expected = if width == 400 { "\"paper\"" } else { "none" };
        assert_eq!(window.eval(label), serde_json::json!(expected));
        window.assert_no_complaint();
    }
}
