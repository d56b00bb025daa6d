//! The text of a gzip file: one member after the other. Between and behind them there may be zeros,
//! as tapes and block devices leave them. Other data behind a member is not read; it is reported.

use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;

pub(super) struct Gzip<R> {
    /// The member that is being read; `None` behind the last.
    member: Option<GzDecoder<R>>,
    is_first: bool,
    /// Becomes true if something else follows.
    has_more: Rc<Cell<bool>>,
}

impl<R: BufRead> Gzip<R> {
    pub(super) fn new(input: R, has_more: Rc<Cell<bool>>) -> Self {
        Gzip {
            member: Some(GzDecoder::new(input)),
            is_first: true,
            has_more,
        }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(buffer) {
                Ok(0) if !buffer.is_empty() => {}
                // Data that does not begin like a member is not a member.
                Err(error)
                    if !self.is_first && member.header().is_none() && is_of_format(&error) =>
                {
                    self.has_more.set(true);
                    self.member = None;
                    break;
                }
                read => return read,
            }
            self.is_first = false;
            let input = self.member.take().map(GzDecoder::into_inner);
            let Some(mut input) = input else { break };
            if skip_zeros(&mut input)? {
                self.member = Some(GzDecoder::new(input));
            }
        }
        Ok(0)
    }
}

/// Whether an error is about the bytes, and not about reading them.
fn is_of_format(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidInput | ErrorKind::UnexpectedEof
    )
}

/// Whether there is something behind the zeros.
fn skip_zeros(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let is_all = zeros == bytes.len();
        input.consume(zeros);
        if !is_all {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    /// The text, and whether something else follows, with buffers of every length.
    fn read(bytes: &[u8]) -> io::Result<(Vec<u8>, bool)> {
        let mut all = Vec::new();
        for length in [1, 2, 7, 8192] {
            let has_more = Rc::default();
            let input = BufReader::with_capacity(length, bytes);
            let mut text = Vec::new();
            Gzip::new(input, Rc::clone(&has_more)).read_to_end(&mut text)?;
            all.push((text, has_more.get()));
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
        Ok(all.swap_remove(0))
    }

    #[test]
    fn members_and_zeros_are_read_and_other_data_is_reported() {
        let [one, two] = [member(b"1 2\n"), member(b"3\n")];
        let zeros = vec![0; 10_000];
        for (parts, text, has_more) in [
            (vec![&one[..]], &b"1 2\n"[..], false),
            (vec![&one, &two], b"1 2\n3\n", false),
            (vec![&one, &zeros], b"1 2\n", false),
            (vec![&one, &zeros, &two, &[0]], b"1 2\n3\n", false),
            (vec![&one, b"some text"], b"1 2\n", true),
            (
                vec![&one, &two, &zeros, b"\x1f\x8cx, a longer text"],
                b"1 2\n3\n",
                true,
            ),
        ] {
            let found = read(&parts.concat()).unwrap();
            assert_eq!(found, (text.to_vec(), has_more), "{parts:?}");
        }
    }

    #[test]
    fn a_member_that_is_cut_or_damaged_is_an_error() {
        let [one, mut two] = [member(b"1 2\n"), member(b"3\n")];
        for cut in [&one[..9], &one[..one.len() - 1]] {
            assert!(read(cut).is_err(), "{cut:?}");
        }
        let length = two.len();
        two[length - 8] ^= 1;
        assert!(read(&two).is_err());
        assert!(read(&[one.clone(), two].concat()).is_err());
        assert!(read(&[&one[..], &one[..12]].concat()).is_err());
    }
}
