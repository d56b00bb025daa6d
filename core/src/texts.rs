//! [`texts`]: the texts of errors.

/// Makes types errors: a text for each variant, which may name the fields of its pattern.
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
