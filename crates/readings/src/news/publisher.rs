//! Publishers by one name each, because sources write a publisher's name in several ways.

use serde::{Deserialize, Serialize};

/// The weight of a publisher that is not in the table, from 0 to 100.
const UNKNOWN_WEIGHT: u8 = 40;

/// The known publishers: their names, their spellings at sources, and the weight of their
/// headlines, from 0 to 100. Publishers with their own newsroom weigh more than those that relay
/// short notices.
const KNOWN: &[(&str, &[&str], u8)] = &[
    ("CoinDesk", &["coindesk", "coindeskcom"], 70),
    ("The Block", &["theblock", "theblockco"], 70),
    ("Blockworks", &["blockworks", "blockworksco"], 65),
    ("Cointelegraph", &["cointelegraph", "cointelegraphcom"], 60),
    ("Decrypt", &["decrypt", "decryptco"], 60),
    (
        "The Defiant",
        &["thedefiant", "thedefiantio", "defiant"],
        60,
    ),
    ("DL News", &["dlnews", "dlnewscom"], 60),
    (
        "BlockBeats",
        &["blockbeats", "blockbeatsflash", "theblockbeats"],
        50,
    ),
    ("Odaily", &["odaily", "odailyflash"], 50),
];

/// The publisher of an article.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Publisher(String);

impl Publisher {
    /// Returns the publisher that a source calls `name`: its usual name if it is known, otherwise
    /// the source's spelling.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let usual = known(name).map(|(usual, ..)| usual);
        Self(usual.unwrap_or(name.trim()).to_owned())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The weight of its headlines, from 0 to 100.
    #[must_use]
    pub fn weight(&self) -> u8 {
        known(&self.0).map_or(UNKNOWN_WEIGHT, |(.., weight)| weight)
    }
}

fn known(name: &str) -> Option<(&'static str, &'static [&'static str], u8)> {
    let key: String = name
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let found = KNOWN
        .iter()
        .find(|(_, names, _)| names.contains(&key.as_str()));
    found.copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_publisher_are_one() {
        for name in ["theblock", "The Block", "theblock.co", " THE BLOCK "] {
            assert_eq!(Publisher::of(name).name(), "The Block", "{name}");
        }
        assert_eq!(Publisher::of("CoinDesk").weight(), 70);
        assert_eq!(
            (
                Publisher::of(" Some Blog ").name(),
                Publisher::of("Some Blog").weight()
            ),
            ("Some Blog", 40)
        );
        // A name with letters that only look alike is another name.
        assert_ne!(Publisher::of("СoinDesk").name(), "CoinDesk");
    }
}
