//! [`wire`]: the derives of values that travel over a line or stand in a log.

/// Types that are serialised with the feature `serde`, and logged with the feature `defmt`.
macro_rules! wire {
    ($($item:item)*) => { $(
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        $item
    )* };
}

pub(crate) use wire;
