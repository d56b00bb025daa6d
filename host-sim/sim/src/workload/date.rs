//! Dates: of logs, and as results have them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Whether a date has a time zone, and the microseconds from the beginning of 1970 to it, in UTC
/// where it has none. `None`: the word is no date.
pub(super) fn microseconds(word: &str) -> Option<(bool, i64)> {
    let zulu = word.strip_suffix(" UTC").map(|date| format!("{date}Z"));
    let word = zulu.as_deref().unwrap_or(word);
    let (has_zone, at) = match (word.parse::<Timestamp>(), word.parse::<DateTime>()) {
        (Ok(at), _) => (true, at),
        (Err(_), Ok(date)) => (false, TimeZone::UTC.to_timestamp(date).ok()?),
        (Err(_), Err(_)) => return None,
    };
    Some((has_zone, at.as_microsecond()))
}

/// A Unix time by the clock of a time zone, in RFC 3339; in UTC where the zone is not known.
pub(super) fn local(seconds: i64, zone: Option<&str>) -> Option<String> {
    let at = Timestamp::from_second(seconds).ok()?;
    let zone = zone.and_then(|name| TimeZone::get(name).ok());
    let at = at.to_zoned_datetime(zone.unwrap_or(TimeZone::UTC));
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}
