//! Lists of nodes as Slurm writes them: `node[0-3,8],login`, `rack[1-2]n[00-15]`.

/// The names in a list, in order.
///
/// # Errors
///
/// When the text is not a list of nodes, or has more than `most` plus a thousand names.
pub(super) fn names(list: &str, most: u64) -> Result<Vec<String>, String> {
    let most = usize::try_from(most)
        .unwrap_or(usize::MAX)
        .saturating_add(1000);
    let mut names = Vec::new();
    for part in split(list)? {
        let mut all = vec![String::new()];
        let mut rest = part;
        while let Some((before, bracket)) = rest.split_once('[') {
            // Every `[` has its `]`.
            let (ranges, behind) = bracket.split_once(']').unwrap_or((bracket, ""));
            let mut longer = Vec::new();
            for range in ranges.split(',') {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let number = |text: &str| {
                    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
                    let number = text.parse::<u64>().ok().filter(|_| is_number);
                    number.ok_or_else(|| format!("{range:?} (expected a range such as 0-15)"))
                };
                let (from, to) = (number(first)?, number(last)?);
                if from > to {
                    return Err(format!("{range:?} (expected the lower number first)"));
                }
                if (to - from) as usize >= most {
                    return Err("too many nodes".to_owned());
                }
                longer.extend((from..=to).map(|of| format!("{of:0width$}", width = first.len())));
            }
            if all.len() * longer.len() > most {
                return Err("too many nodes".to_owned());
            }
            let join = |name: &String| {
                let start = format!("{name}{before}");
                let all = longer.iter().map(move |of| format!("{start}{of}"));
                all.collect::<Vec<_>>()
            };
            all = all.iter().flat_map(join).collect();
            rest = behind;
        }
        all.iter_mut().for_each(|name| name.push_str(rest));
        names.append(&mut all);
        if names.len() > most {
            return Err("too many nodes".to_owned());
        }
    }
    Ok(names)
}

/// The parts between commas outside of brackets.
fn split(list: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut is_inside) = (Vec::new(), 0, false);
    for (at, byte) in list.bytes().enumerate() {
        match (byte, is_inside) {
            (b'[', false) => is_inside = true,
            (b']', true) => is_inside = false,
            (b'[' | b']', _) => return Err("brackets that do not match".to_owned()),
            (b',', false) => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if is_inside {
        return Err("brackets that do not match".to_owned());
    }
    parts.push(&list[start..]);
    let parts: Vec<_> = parts.into_iter().map(str::trim).collect();
    if parts.contains(&"") {
        Err("an empty name".to_owned())
    } else {
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn lists_are_read_as_slurm_reads_them() {
        for (list, expected) in [
            ("a", "a"),
            ("node[0-3,8],login", "node0 node1 node2 node3 node8 login"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("r[1-2]n[0-1]x, b", "r1n0x r1n1x r2n0x r2n1x b"),
        ] {
            assert_eq!(names(list, 6).unwrap().join(" "), expected);
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (list, expected) in [
            ("", "an empty name"),
            ("a,,b", "an empty name"),
            ("a[0-1", "brackets that do not match"),
            ("a]", "brackets that do not match"),
            ("a[[0]]", "brackets that do not match"),
            ("a[]", "expected a range"),
            ("a[x]", "expected a range"),
            ("a[3-1]", "the lower number first"),
            ("a[0-4000000000]", "too many nodes"),
            ("a[0-500][0-500]", "too many nodes"),
        ] {
            let error = names(list, 32).unwrap_err();
            assert!(error.contains(expected), "{list}: {error}");
        }
    }
}
