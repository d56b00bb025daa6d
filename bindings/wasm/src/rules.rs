//! Why a strategy chooses a place: [`rule`].

use meshalloc::StrategyKind;

/// The rule by which a strategy chooses among the free places, in a few words; `None` for one that
/// the page does not have. `docs/concepts/strategies.md` explains them.
pub(crate) fn rule(kind: StrategyKind) -> Option<&'static str> {
    Some(match kind.name() {
        "first-fit" => "the first place row by row, not turned",
        "adaptive-scan" => "the first place row by row, as it is or else turned",
        "fixed-orientation" => "the first place, with the longer side along the longer one",
        "frame-sliding" => "the first place in strides of the request's sides",
        "best-fit" => "the place whose corner has the most busy neighbours, not turned",
        "busy-list" => "the place with the most busy neighbours around it",
        "free-submesh-list" => "the place that damages the large free boxes least",
        "least-expected-blocking" => "the place that blocks the fewest expected requests",
        "leb-estimates" => "the same as leb, with jobs leaving in the order of their estimates",
        "flex-fold" => "the first place, also of a rectangle with one side halved, one doubled",
        "all-shapes" => "the first place of any rectangle of this size",
        "l-shape" => "one rectangle, or two side by side",
        "neighbor" => "a rectangle, or free processors that are neighbours",
        "buddy" => "the first aligned square with a power of two as side",
        "multiple-buddy" => "aligned squares with powers of two as sides, the largest first",
        "naive" => "the first free processors row by row",
        "random" => "any free processors, drawn at random",
        "paging" => "the first free pages in their order",
        "curve" => "free processors that are close on a Hilbert curve",
        "gen-alg" | "mc1x1" => "the free processors around a free one that are closest to it",
        "mm" => "the free processors that are closest to a crossing of free coordinates",
        "gabl" => "the largest free rectangle within the request, and again for the rest",
        "pald-ff" => "the first place, or else that of the request without strips of one",
        "pald-bf" => "the place with the most busy neighbours, or else without strips of one",
        "tree-collapsing" => "the first place found by collapsing the dimensions, in every order",
        "tree-collapsing-printed" => "the first place found by collapsing, in one order",
        "free-list" => "the first free subcube, with radices rounded up to powers of two",
        "sniffing" => "the first free subcube of the largest radix",
        "partition" => "a half of a half of the machine that blocks the fewest larger ones",
        "walltime-aware" => "the same, beside the job that ends at nearly the same time",
        "partner" => "the first free subcube of whole dimensions",
        "folding" => "the first place, also of a box into which the request folds",
        "parallel-layout" => "columns of processors that face the I/O nodes at the left",
        "compact-binary-tree" => "the halves of the mesh in their order",
        name => match name.strip_suffix("binary-tree")? {
            "" | "static-" | "dynamic-" => "a half of a half of the mesh, filled column by column",
            "independent-" | "independent-static-" | "independent-dynamic-" => {
                "a rectangle for each binary digit of the number, anywhere"
            }
            "dependent-" | "dependent-static-" | "dependent-dynamic-" => {
                "a rectangle for each binary digit of the number, close together"
            }
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_of_the_page_has_a_rule() {
        for kind in StrategyKind::built().filter(|kind| !kind.serves().needs_description()) {
            assert!(rule(kind).is_some(), "{kind}");
        }
    }
}
