//! The words of a command line that the process list may show.

use std::ffi::OsString;

use crate::mysql_words::HIDDEN;

/// The text with which the originals overwrite a password.
const MASK: &str = "x";

/// The replacement of each secret word; `None`: the word itself. `shown`: the words as a record has
/// them.
pub(crate) fn masked(typed: &[String], shown: &[String]) -> Vec<Option<OsString>> {
    debug_assert_eq!(typed.len(), shown.len());
    typed.iter().zip(shown).map(|(typed, shown)| mask_of(typed, shown)).collect()
}

fn mask_of(typed: &str, shown: &str) -> Option<OsString> {
    // `--password=` has nothing to hide.
    let is_hidden = shown.contains(HIDDEN) && shown != typed && shown.replace(HIDDEN, "") != typed;
    is_hidden.then(|| shown.replace(HIDDEN, MASK).into())
}
