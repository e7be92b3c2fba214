//! Versions of servers, as far as they can be compared.

use std::cmp::Ordering;
use std::fmt;

/// The numbers of a version: `10.11.19`. One that is shorter stands for its first release: 8.0 is
/// not after 8.0.30.
#[derive(Debug, Clone)]
pub struct Version(Vec<u32>);

impl Version {
    /// Reads the numbers at the front: `9.7.4-2` is 9.7.4. `None` where there are none.
    pub fn parse(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let numbers: Option<Vec<u32>> = text[..end]
            .split('.')
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect();
        numbers.filter(|numbers| !numbers.is_empty()).map(Self)
    }

    /// `10.11` of `10.11.19`.
    pub fn series(&self) -> (u32, u32) {
        (self.part(0), self.part(1))
    }

    fn part(&self, n: usize) -> u32 {
        self.0.get(n).copied().unwrap_or(0)
    }
}

/// As the order has it: 8.0 is 8.0.0.
impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = self.0.len().max(other.0.len());
        (0..parts)
            .map(|n| self.part(n).cmp(&other.part(n)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_versions() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("8.0.9") < version("8.0.30") && version("5.7.44") < version("8.0"));
        assert!(version("10.11.19-MariaDB") >= version("10.11"));
        assert!(version("9.7.4-2") < version("10.5") && version("15") < version("15.1"));
        assert_eq!(version("9.7.4-2").to_string(), "9.7.4");
        assert_eq!(version("8.0"), version("8.0.0"), "what compares as equal is equal");
        assert_ne!(version("8.0"), version("8.0.1"));
        assert_eq!(Version::parse("source"), None);
        // Calendar versions of MySQL.
        assert!(version("9.7.4") < version("26.7.0") && version("26.7.0") < version("26.10.0"));
        assert!(version("26.10.0-log") < version("28.4"));
        assert_eq!(version("26.10.0-azure").series(), (26, 10));
    }
}
