//! [`texts`]: the texts of errors.

/// Implements `Display` and `Error` for each type. Each variant has a text, which may name fields
/// of the pattern.
macro_rules! texts {
    ($($type:ty: { $($pattern:pat => $text:literal;)* })*) => { $(
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $($pattern => write!(f, $text),)*
                }
            }
        }

        impl core::error::Error for $type {}
    )* };
}

pub(crate) use texts;
