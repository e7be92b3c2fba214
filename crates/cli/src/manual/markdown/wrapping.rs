//! How lines are broken.

/// No flag is divided at its hyphens, and no path at its slashes: they are copied.
pub(super) fn whole_words(columns: usize) -> textwrap::Options<'static> {
    let options = textwrap::Options::new(columns);
    options
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
}
