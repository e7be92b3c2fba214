//! Suggestions for a misspelt name.

/// The candidates that are most like `word`, best first, at most three.
pub fn near_matches<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const LIKENESS_MIN: f64 = 0.75;
    let word = word.to_lowercase().replace('-', "_");
    let mut scored: Vec<_> = candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, candidate)| *candidate);
    scored.into_iter().take(3).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// What follows an unknown name in an error: the near ones in parentheses; empty if there is none.
pub fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        String::new()
    } else {
        format!(" (did you mean `{}`?)", near.join("` or `"))
    }
}

/// [`did_you_mean`], or all names after the word `what` (`known`, `existing`) if none is near.
pub fn did_you_mean_or(near: &[String], what: &str, names: &[impl AsRef<str>]) -> String {
    if !near.is_empty() || names.is_empty() {
        return did_you_mean(near);
    }
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    format!(" ({what}: `{}`)", names.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_before_all_names() {
        let near = near_matches("recht", ["rate", "retry", "reconnect"]);
        assert!(near.len() <= 3, "{near:?}");
        assert_eq!(did_you_mean(&["a".to_owned(), "b".to_owned()]), " (did you mean `a` or `b`?)");
        assert_eq!(did_you_mean(&[]), "");
        assert_eq!(
            did_you_mean_or(&["a".to_owned()], "known", &["a", "c"]),
            " (did you mean `a`?)"
        );
        assert_eq!(did_you_mean_or(&[], "known", &["a", "c"]), " (known: `a`, `c`)");
        assert_eq!(did_you_mean_or(&[], "existing", &[] as &[&str]), "");
    }
}
