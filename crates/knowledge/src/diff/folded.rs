//! Differences that explain nothing, and why.

use truetps_record::{same_setting, setting_number};

use super::document::Placed;
use super::equal::is_same;
use crate::kinds::{inert_reason, is_path};
use crate::setting::find_setting;
use crate::side::{SettingsSide, SideValue};
use crate::unseen::has_no_variable;

pub(super) const RENAMED: &str = "the other server has the same value under another name";
const SAME_FOLDER: &str = "files of the server: inside both datadirs, or outside both";
const OWN_DEFAULTS: &str = "unknown setting, and each of the two versions has its own default";
pub(super) const ONE_SIDED: &str = "unknown setting, and only one of the two servers has it";
pub(super) const AT_DEFAULT: &str =
    "one file sets it to its default, and the other leaves it unset";
pub(super) const NO_VARIABLE: &str =
    "the server takes it in a file, and shows no variable of that name to compare with";

/// Why a difference is folded away; `None` where it is shown.
pub(super) fn folded(
    name: &str,
    (a, of_a): (&SettingsSide, &Placed),
    (b, of_b): (&SettingsSide, &Placed),
) -> Option<&'static str> {
    inert_reason(name)
        .or_else(|| same_folder(name, a, b))
        .or_else(|| if find_setting(name).is_none() { unknown_reason(name, a, b) } else { None })
        .or_else(|| is_renamed_setting(name, (a, of_a), (b, of_b)).then_some(RENAMED))
        .or_else(|| is_without_variable(name, a, b).then_some(NO_VARIABLE))
        .or_else(|| is_at_default(name, of_a, of_b).then_some(AT_DEFAULT))
}

/// Why a setting that is not known is folded away. A value that a user has chosen is shown, also if
/// the other server has no such setting.
fn unknown_reason(name: &str, a: &SettingsSide, b: &SettingsSide) -> Option<&'static str> {
    if a.flavour == b.flavour && a.version == b.version {
        return None;
    }
    match a.settings.get(name).zip(b.settings.get(name)) {
        Some((one, other)) => (one.is_default() && other.is_default()).then_some(OWN_DEFAULTS),
        None => (!is_chosen(name, a) && !is_chosen(name, b)).then_some(ONE_SIDED),
    }
}

fn is_renamed_setting(
    name: &str,
    (a, of_a): (&SettingsSide, &Placed),
    (b, of_b): (&SettingsSide, &Placed),
) -> bool {
    if REDO_SIZE.contains(&name) {
        same_redo_size(a, b)
    } else {
        is_renamed(of_a, of_b) || is_renamed(of_b, of_a)
    }
}

/// An option of a file, beside a server that takes it and does not show it.
fn is_without_variable(name: &str, a: &SettingsSide, b: &SettingsSide) -> bool {
    [(a, b), (b, a)].into_iter().any(|(file, server)| {
        !file.is_complete
            && server.is_complete
            && !server.settings.contains_key(name)
            && server
                .flavour
                .zip(server.parsed_version())
                .is_some_and(|(flavour, version)| has_no_variable(name, flavour, &version))
    })
}

/// One side sets a value that the other side's server has without being told.
fn is_at_default(name: &str, a: &Placed, b: &Placed) -> bool {
    [(a, b), (b, a)].into_iter().any(|(set, unset)| {
        let default = unset.default.as_deref().filter(|_| unset.is_left_to_server);
        set.value.as_deref().zip(default).is_some_and(|(value, default)| {
            is_same(name, &SideValue::new(value), &SideValue::new(default))
        })
    })
}

/// Files of two servers lie in different folders: what may matter is whether they share a disk with
/// the data.
fn same_folder(name: &str, a: &SettingsSide, b: &SettingsSide) -> Option<&'static str> {
    if !is_path(name) {
        return None;
    }
    (is_inside_data(name, a)? == is_inside_data(name, b)?).then_some(SAME_FOLDER)
}

fn is_inside_data(name: &str, side: &SettingsSide) -> Option<bool> {
    let path = side.text(name)?;
    let data = side.text("datadir").map_or("", |data| data.trim_end_matches('/'));
    let below = path.strip_prefix(data).filter(|_| !data.is_empty());
    Some(
        !path.starts_with('/')
            || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    )
}

/// Whether a user has set it, as far as is known: each line of an option file, and what a server
/// says to be neither its default nor its own choice. Servers that do not say where a value is from
/// leave it open.
fn is_chosen(name: &str, side: &SettingsSide) -> bool {
    side.settings.get(name).is_some_and(|found| {
        let origin = found.origin.as_deref();
        !side.is_complete || (origin.is_some_and(|origin| origin != "auto") && !found.is_default())
    })
}

pub(super) const REDO_CAPACITY: &str = "innodb_redo_log_capacity";
const REDO_FILE_SIZE: &str = "innodb_log_file_size";
const REDO_FILES: &str = "innodb_log_files_in_group";
const REDO_SIZE: [&str; 3] = [REDO_CAPACITY, REDO_FILE_SIZE, REDO_FILES];

/// One side has the size of the redo log in one setting, the other one in two, and it is the same
/// size.
fn same_redo_size(a: &SettingsSide, b: &SettingsSide) -> bool {
    let [a_has_capacity, b_has_capacity] =
        [a, b].map(|side| side.settings.contains_key(REDO_CAPACITY));
    let (one, other) = (redo_bytes(a), redo_bytes(b));
    a_has_capacity != b_has_capacity && one.is_some() && one == other
}

fn redo_bytes(side: &SettingsSide) -> Option<f64> {
    let [capacity, file_size, files] =
        REDO_SIZE.map(|name| side.text(name).and_then(setting_number));
    capacity.or_else(|| Some(file_size? * files.or_else(|| default_files(side)).unwrap_or(1.0)))
}

fn default_files(side: &SettingsSide) -> Option<f64> {
    setting_number(side.span_of(find_setting(REDO_FILES)?)?.default.as_deref()?)
}

fn is_renamed(here: &Placed, there: &Placed) -> bool {
    let Some(value) = &here.value else { return false };
    there.value.is_none() && there.counterparts.iter().any(|(_, other)| same_setting(value, other))
}
