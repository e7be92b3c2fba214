//! Whole numbers in plans. TOML's integers end at 2^63 - 1, so larger numbers are written as texts
//! and every plan can be written. The checks allow no such number in a plan that a user runs.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

/// The largest number of TOML.
pub(crate) const WHOLE_MAX: u64 = i64::MAX as u64;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *number > WHOLE_MAX {
        serializer.collect_str(number)
    } else {
        serializer.serialize_u64(*number)
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Whole;

    impl Visitor<'_> for Whole {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number from 0")
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
            u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            let number = text.parse().ok().filter(|number| *number > WHOLE_MAX);
            number.ok_or_else(|| E::invalid_type(Unexpected::Str(text), &self))
        }
    }

    deserializer.deserialize_any(Whole)
}

/// Numbers that may be absent.
pub(crate) mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Whole(#[serde(with = "super")] u64);

    #[expect(clippy::ref_option, reason = "as serde calls it")]
    pub(crate) fn serialize<S: Serializer>(
        number: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        number.map(Whole).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Ok(Option::<Whole>::deserialize(deserializer)?.map(|number| number.0))
    }
}
