//! Values of options, as scripts see them in `sysbench.opt`.

use super::{OptionType, number};

/// What stands under a name in `sysbench.opt`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OptionValue {
    Bool(bool),
    Number(f64),
    Text(Vec<u8>),
    /// A table of texts.
    List(Vec<Vec<u8>>),
    /// Files are not exported.
    Nil,
}

/// How a text is wrong: determines the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadText {
    /// `invalid option: --name=text`
    Switch,
    /// `Invalid value for the 'name' option: 'text'`
    Number,
}

/// The value of a text. None means an option without `=`, or without a default and a given value:
/// true, 0 or empty. Sizes and numbers with a fraction are never refused: like sysbench, it uses
/// what can be read.
pub(crate) fn read(kind: OptionType, text: Option<&[u8]>) -> Result<OptionValue, BadText> {
    Ok(match (kind, text) {
        (OptionType::Bool, None) => OptionValue::Bool(true),
        (OptionType::Bool, Some(text)) => OptionValue::Bool(switch(text).ok_or(BadText::Switch)?),
        (OptionType::Null | OptionType::File, _) => OptionValue::Nil,
        (OptionType::Int, text) => OptionValue::Number(
            number::int(text.unwrap_or_default()).ok_or(BadText::Number)?.into(),
        ),
        (OptionType::Size, text) => {
            OptionValue::Number(number::size(text.unwrap_or_default()) as f64)
        }
        (OptionType::Double, text) => OptionValue::Number(number::double(text.unwrap_or_default())),
        (OptionType::String, text) => OptionValue::Text(text.unwrap_or_default().to_vec()),
        (OptionType::List, text) => OptionValue::List(list(text.unwrap_or_default())),
    })
}

/// `on`, `true`, `1` and their opposites, in these letters.
pub(crate) fn switch(text: &[u8]) -> Option<bool> {
    match text {
        b"on" | b"true" | b"1" => Some(true),
        b"off" | b"false" | b"0" => Some(false),
        _ => None,
    }
}

/// The parts between commas; an empty part is no element.
pub(crate) fn list(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|byte| *byte == b',').filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> OptionValue {
        OptionValue::List(texts.iter().map(|text| text.as_bytes().to_vec()).collect())
    }

    #[test]
    fn switches_have_six_spellings() {
        for (text, on) in [
            ("on", true),
            ("true", true),
            ("1", true),
            ("off", false),
            ("false", false),
            ("0", false),
        ] {
            assert_eq!(
                read(OptionType::Bool, Some(text.as_bytes())),
                Ok(OptionValue::Bool(on)),
                "{text}"
            );
        }
        for text in ["", "x", "On", "TRUE", "yes", "on ", "2"] {
            assert_eq!(
                read(OptionType::Bool, Some(text.as_bytes())),
                Err(BadText::Switch),
                "{text}"
            );
        }
        assert_eq!(read(OptionType::Bool, None), Ok(OptionValue::Bool(true)));
    }

    #[test]
    fn lists_have_no_empty_elements() {
        for (text, parts) in [
            ("", &[][..]),
            (",", &[]),
            (",a", &["a"]),
            ("a,", &["a"]),
            ("a,,b", &["a", "b"]),
            ("a, b", &["a", " b"]),
            ("\"a,b\"", &["\"a", "b\""]),
        ] {
            assert_eq!(read(OptionType::List, Some(text.as_bytes())), Ok(texts(parts)), "{text}");
        }
        assert_eq!(read(OptionType::List, None), Ok(texts(&[])));
    }

    #[test]
    fn bytes_of_texts_survive() {
        assert_eq!(
            read(OptionType::String, Some(b"a\xff\xfe=b ")),
            Ok(OptionValue::Text(b"a\xff\xfe=b ".to_vec()))
        );
        assert_eq!(read(OptionType::String, None), Ok(OptionValue::Text(Vec::new())));
    }

    #[test]
    fn numbers_without_a_text_are_0_and_files_are_nil() {
        for kind in [OptionType::Int, OptionType::Size, OptionType::Double] {
            assert_eq!(read(kind, None), Ok(OptionValue::Number(0.0)));
            assert_eq!(read(kind, Some(b"")), Ok(OptionValue::Number(0.0)));
        }
        assert_eq!(read(OptionType::Int, Some(b"x")), Err(BadText::Number));
        assert_eq!(read(OptionType::File, Some(b"x")), Ok(OptionValue::Nil));
        assert_eq!(read(OptionType::Null, None), Ok(OptionValue::Nil));
    }
}
