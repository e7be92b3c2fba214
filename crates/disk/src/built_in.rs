//! The profiles that come with truetps.

/// Name and TOML.
pub(crate) const BUILT_IN: [(&str, &str); 7] = [
    ("native", include_str!("../profiles/native.toml")),
    ("hdd7200", include_str!("../profiles/hdd7200.toml")),
    ("hdd5400", include_str!("../profiles/hdd5400.toml")),
    ("sata-ssd", include_str!("../profiles/sata-ssd.toml")),
    ("nvme", include_str!("../profiles/nvme.toml")),
    ("gp3", include_str!("../profiles/gp3.toml")),
    ("lying", include_str!("../profiles/lying.toml")),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}
