//! Sizes of a large machine on this one.

use truetps_lab::ExplainSide;
use truetps_record::SettingValue;
use truetps_report::format;

pub(crate) const POOL: &str = "innodb_buffer_pool_size";
/// A private server may have this part of the memory as its buffer pool.
const SHARE_MAX: f64 = 0.5;
/// The servers' own smallest size.
const POOL_MIN: i64 = 5 << 20;
const STEP: i64 = 1 << 20;

/// If the buffer pool of one side is larger than half of the memory, both are divided by the same
/// number, so that the larger one is half of the memory: what one side has more of stays as it is,
/// and the tables keep their size. A side that does not set it has its server's default.
pub(crate) fn scale(
    sides: &mut [ExplainSide; 2],
    memory_bytes: u64,
    default_of: impl Fn(&ExplainSide) -> Option<SettingValue>,
) {
    let largest = sides.iter().filter_map(pool_bytes).max().unwrap_or(0) as f64;
    let room = memory_bytes as f64 * SHARE_MAX;
    if largest <= room {
        return;
    }
    for side in sides {
        if !side.settings.contains_key(POOL)
            && let Some(default) = default_of(side)
        {
            side.settings.insert(POOL.to_owned(), default);
        }
        let Some(bytes) = pool_bytes(side) else { continue };
        let scaled = ((bytes as f64 * room / largest) as i64 / STEP * STEP).max(POOL_MIN);
        side.settings.insert(POOL.to_owned(), SettingValue::Int(scaled));
        let (was, is) = (format::bytes(bytes as u64), format::bytes(scaled as u64));
        side.notes.push(format!(
            "{POOL} is {is} in place of {was}: both sides are scaled to this machine's memory"
        ));
    }
}

fn pool_bytes(side: &ExplainSide) -> Option<i64> {
    side.settings.get(POOL).and_then(SettingValue::as_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(size: &str) -> ExplainSide {
        ExplainSide {
            name: "a".to_owned(),
            program: 0,
            settings: [(POOL.to_owned(), truetps_plan::level_of(size))].into(),
            levels: indexmap::IndexMap::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn both_are_divided_by_the_same() {
        let mut sides = [side("64G"), side("16G")];
        scale(&mut sides, 8 << 30, |_| None);
        let sizes = [&sides[0], &sides[1]].map(|side| side.settings[POOL].as_int().unwrap());
        assert_eq!(sizes, [4 << 30, 1 << 30]);
        assert!(sides[0].notes[0].contains("64"), "{:?}", sides[0].notes);
    }

    #[test]
    fn a_default_is_divided_as_well() {
        let mut sides = [side("64G"), side("1")];
        sides[1].settings.clear();
        scale(&mut sides, 8 << 30, |_| Some(SettingValue::Text("134217728".to_owned())));
        let sizes = [&sides[0], &sides[1]].map(|side| side.settings[POOL].as_int().unwrap());
        assert_eq!(sizes, [4 << 30, 8 << 20]);
    }

    #[test]
    fn what_fits_stays() {
        let mut sides = [side("1G"), side("128M")];
        scale(&mut sides, 8 << 30, |_| Some(SettingValue::Int(1)));
        assert_eq!(sides, [side("1G"), side("128M")]);
    }
}
