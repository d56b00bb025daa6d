//! The frame of every HTML page: one file with everything inside, so that it can be read without a
//! network.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The element of a page that names the program that wrote it.
pub(crate) const GENERATOR: &str = "<meta name=\"generator\" content=\"host-sim\">";

pub(crate) fn page(title: &str, style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                (PreEscaped(GENERATOR))
                title { (title) }
                // Otherwise a browser asks for an icon.
                link rel="icon" href="data:,";
                style { (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    page.into_string() + "\n"
}
