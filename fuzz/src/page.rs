//! The commands of the page in the browser.

use meshalloc_wasm::{Lab, answer};

/// Each line is carried out or refused, and the state is sound after each.
///
/// # Panics
///
/// If it is not.
pub fn page(bytes: &[u8]) {
    let mut lab: Option<Lab> = None;
    // More commands would test nothing new.
    for line in bytes.split(|&byte| byte == b'\n').take(100) {
        let reply = answer(&mut lab, line);
        let is_known = reply.starts_with(b"{\"done\":") || reply.starts_with(b"{\"failed\":");
        assert!(is_known, "{}", String::from_utf8_lossy(&reply));
        let panels = lab
            .iter()
            .flat_map(|lab| (0..4).filter_map(|place| lab.panel(place)));
        for panel in panels {
            panel.with_controller(|controller| controller.check_invariants());
        }
    }
}
