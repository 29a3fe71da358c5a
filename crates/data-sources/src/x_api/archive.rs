//! The archive of a list: posts without their texts, and the ids of the rows that were sent, so
//! that no row is paid for twice.

use std::collections::BTreeMap;

use jiff::Timestamp;
use readings::social::{Post, Posts};
use serde::{Deserialize, Serialize};

/// The posts of a list of accounts within two days. It holds no texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The list.
    list: String,
    /// The archive has every post from this time on.
    covered_from: Timestamp,
    /// Every row that was sent, with its time; also rows of accounts that are not shown.
    seen: BTreeMap<String, Timestamp>,
    /// Newest first.
    posts: Vec<Post>,
}

/// One page of a list, as it was read.
pub(super) struct Page {
    pub(super) posts: Vec<Post>,
    /// Every row with its id and its time.
    pub(super) seen: Vec<(String, Timestamp)>,
    pub(super) next: Option<String>,
}

/// Pages that are read one after another, newest first.
#[derive(Default)]
pub(super) struct Reading {
    posts: Vec<Post>,
    seen: BTreeMap<String, Timestamp>,
    /// The time of the oldest row.
    pub(super) oldest: Option<Timestamp>,
    /// Whether the reading has reached a known row.
    pub(super) met: bool,
    /// Whether the reading has reached a known row, the end of the list or the end of the window.
    pub(super) complete: bool,
    /// Whether a page failed.
    pub(super) broken_off: bool,
}

impl Reading {
    /// Adds a page. Returns whether the page has a new row.
    pub(super) fn take(&mut self, page: Page, known: &Archive) -> bool {
        let before = self.seen.len();
        for (id, at) in page.seen {
            self.oldest = self.oldest.into_iter().chain([at]).min();
            match known.seen.contains_key(&id) {
                true => self.met = true,
                false => {
                    self.seen.insert(id, at);
                }
            }
        }
        self.posts.extend(page.posts);
        self.seen.len() > before
    }
}

impl Archive {
    /// The time of its newest row.
    fn newest(&self) -> Option<Timestamp> {
        self.seen.values().max().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The posts.
    pub(super) fn posts(&self) -> Posts {
        Posts {
            posts: self.posts.clone(),
            covered_from: self.covered_from,
        }
    }

    /// The archive of `list` since a time; empty when it belongs to another list.
    pub(super) fn within(mut self, list: &str, since: Timestamp) -> Self {
        if self.list != list {
            return Self {
                list: list.to_owned(),
                ..Self::default()
            };
        }
        self.seen.retain(|_, at| *at >= since);
        self.posts.retain(|post| post.at >= since);
        self
    }

    /// Adds a new reading. After a reading that did not reach a known row, posts may be missing in
    /// between: the covered time then begins after them.
    pub(super) fn with(mut self, reading: Reading, since: Timestamp) -> Self {
        let read_from = reading.oldest.unwrap_or(since);
        let from = match (reading.complete, reading.met) {
            (true, true) => self.covered_from,
            (true, false) => since,
            (false, _) => read_from,
        };
        self.covered_from = from.max(since);
        self.seen.extend(reading.seen);
        self.seen.retain(|_, at| *at >= since);
        self.add(reading.posts, since);
        self
    }

    /// Joins the archive of another reader of the same list. The covered times are united where
    /// they meet. Of two different lists, the one that was read last stays.
    pub(super) fn joined(self, other: Self) -> Self {
        let (mut newer, older) = match self.newest() >= other.newest() {
            true => (self, other),
            false => (other, self),
        };
        if newer.list != older.list {
            return newer;
        }
        if older
            .newest()
            .is_some_and(|newest| newest >= newer.covered_from)
        {
            newer.covered_from = newer.covered_from.min(older.covered_from);
        }
        newer.seen.extend(older.seen);
        newer.add(older.posts, Timestamp::MIN);
        newer
    }

    /// Adds posts since a time, each once, newest first.
    fn add(&mut self, more: Vec<Post>, since: Timestamp) {
        let mut all: BTreeMap<String, Post> = BTreeMap::new();
        for post in std::mem::take(&mut self.posts).into_iter().chain(more) {
            if post.at >= since {
                all.entry(post.url.clone()).or_insert(post);
            }
        }
        self.posts = all.into_values().collect();
        self.posts.sort_by_key(|post| std::cmp::Reverse(post.at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &str, from: i64, rows: &[i64]) -> Archive {
        let at = |hour: i64| Timestamp::from_second(hour * 3_600).unwrap();
        Archive {
            list: list.to_owned(),
            covered_from: at(from),
            seen: rows.iter().map(|row| (row.to_string(), at(*row))).collect(),
            posts: Vec::new(),
        }
    }

    #[test]
    fn archives_of_one_list_unite_their_covered_times_where_they_meet() {
        let meeting = of("1", 10, &[10, 20]).joined(of("1", 20, &[20, 30]));
        assert_eq!(meeting, of("1", 10, &[10, 20, 30]));
        let apart = of("1", 10, &[10, 15]).joined(of("1", 20, &[20, 30]));
        assert_eq!(apart, of("1", 20, &[10, 15, 20, 30]));
        let other = of("1", 10, &[10]).joined(of("2", 20, &[30]));
        assert_eq!(other, of("2", 20, &[30]));
    }

    #[test]
    fn posts_of_another_list_are_not_used() {
        let since = Timestamp::from_second(12 * 3_600).unwrap();
        assert!(of("1", 10, &[10, 20]).within("2", since).is_empty());
        let left = of("1", 10, &[10, 20]).within("1", since);
        assert_eq!(left, of("1", 10, &[20]));
    }
}
