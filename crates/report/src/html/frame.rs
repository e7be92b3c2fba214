//! What each page has around its content: the line at the top, the theme, what a browser may load,
//! and the last line.

macro_rules! asset {
    ($path:literal) => {
        include_str!(concat!("../../assets/", $path))
    };
}
pub(super) use asset;

/// The values of `frame.html`.
pub(super) struct Frame<'a> {
    /// At the left of the top line.
    pub(super) name: &'a str,
    /// The title of the window.
    pub(super) title: String,
    pub(super) tool_version: &'a str,
    /// Anchor and name of each section, for the line at the top. The first is the answer,
    /// `verdict`.
    pub(super) sections: Vec<(String, String)>,
    pub(super) css: &'static str,
    /// Runs before the scripts of a page.
    pub(super) js: &'static str,
}

impl Default for Frame<'_> {
    fn default() -> Self {
        Self {
            name: "",
            title: String::new(),
            tool_version: "",
            sections: Vec::new(),
            css: asset!("report.css"),
            js: asset!("js/frame.js"),
        }
    }
}
