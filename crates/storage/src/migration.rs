//! The change that opening a store makes to its tables.

use std::{fmt, path::PathBuf};

/// The versions of a store's tables, before and after a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The tables.
    pub tables: Tables,
    /// Their current version. 0 when there are none.
    pub from: u32,
    /// The newest version that this program knows.
    pub to: u32,
}

/// The tables of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tables {
    /// The tables of this component in a PostgreSQL database.
    Component(&'static str),
    /// The SQLite file at this path.
    File(PathBuf),
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component(name) => write!(f, "the tables of `{name}`"),
            Self::File(path) => write!(f, "the file {}", path.display()),
        }
    }
}

impl fmt::Display for Migration {
    /// Says what a start does to the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tables, from, to } = self;
        match (from, tables) {
            (0, Tables::Component(name)) => write!(
                f,
                "there are no tables of `{name}`; the first start that needs them makes version {to}"
            ),
            (0, Tables::File(path)) => write!(
                f,
                "{} is empty; the first start that needs it makes version {to}",
                path.display()
            ),
            (_, Tables::Component(_)) if from == to => write!(f, "{tables} have version {to}"),
            (_, Tables::File(_)) if from == to => write!(f, "{tables} has version {to}"),
            (_, Tables::Component(_)) => write!(
                f,
                "the first start that needs {tables} brings them from version {from} to {to}"
            ),
            (_, Tables::File(_)) => write!(
                f,
                "the first start that needs {tables} brings it from version {from} to {to}"
            ),
        }
    }
}
