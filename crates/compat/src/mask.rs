//! Words of a command line as the list of processes may show them.

use std::ffi::OsString;

use crate::mysql_words::HIDDEN;

/// What the originals write over a password.
const MASK: &str = "x";

/// What stands for each word that nobody may see; `None`: the word itself. `shown`: the words as a record has them.
pub(crate) fn masked(typed: &[String], shown: &[String]) -> Vec<Option<OsString>> {
    debug_assert_eq!(typed.len(), shown.len());
    let one = |(typed, shown): (&String, &String)| {
        // Of `--password=` there is nothing to hide.
        let is_hidden = shown.contains(HIDDEN) && shown != typed && shown.replace(HIDDEN, "") != *typed;
        is_hidden.then(|| shown.replace(HIDDEN, MASK).into())
    };
    typed.iter().zip(shown).map(one).collect()
}
