//! Lines with a checksum.
//!
//! A line is a JSON object whose last member, `crc64`, is the CRC-64 (ECMA-182, as xz uses it) of everything before that
//! member, and of the identity of the journal it belongs to: a line that was damaged, or that another journal wrote, does
//! not check. Every damage of up to 64 bits in a row is found, any other but for one in 2^64.

use std::io;

use crc::{CRC_64_XZ, Crc};
use serde::Serialize;

use crate::identity::hash;

static CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

/// What precedes the digits of the checksum, and what follows them.
const BEFORE: &[u8] = b",\"crc64\":\"";
const AFTER: &[u8] = b"\"}";
const DIGITS: usize = 16;

/// The line of an object that has members, with its line break. `identity` is not written, but needed to read it again.
pub(super) fn sealed(identity: &str, object: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(object)?;
    // The closing brace comes after the checksum.
    line.pop();
    let sum = checksum(identity, &line);
    line.extend(BEFORE);
    line.extend(hash(sum).bytes());
    line.extend(AFTER);
    line.push(b'\n');
    Ok(line)
}

/// The JSON of a line as [`sealed`] made it, without the checksum; `None` if it is damaged or of another identity.
pub(super) fn unsealed(identity: &str, line: &[u8]) -> Option<Vec<u8>> {
    let line = line.strip_suffix(b"\n")?.strip_suffix(AFTER)?;
    let (line, digits) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
    let content = line.strip_suffix(BEFORE)?;
    // As text: one sum has one form.
    if hash(checksum(identity, content)).as_bytes() != digits {
        return None;
    }
    let mut json = content.to_vec();
    json.push(b'}');
    Some(json)
}

fn checksum(identity: &str, content: &[u8]) -> u64 {
    let mut digest = CRC.digest();
    digest.update(identity.as_bytes());
    digest.update(b"\n");
    digest.update(content);
    digest.finalize()
}
