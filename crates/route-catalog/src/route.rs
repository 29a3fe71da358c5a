//! One row of the table.

use std::fmt;

use x402_wire::MicroUsd;

use crate::Parameter;

/// A paid route: all facts about it that do not need running it.
///
/// The router, the 402 offer, OpenAPI, the discovery documents and the documentation are all
/// rendered from these rows.
#[derive(Debug)]
pub struct Route {
    /// The one method of this operation.
    pub method: Method,
    /// The path, without a trailing slash.
    pub path: &'static str,
    /// The path that stands for the resource when resources are counted: the yield-watch family is
    /// one resource, every other path is its own.
    pub resource: &'static str,
    /// The price of one call.
    pub price: MicroUsd,
    /// A few words.
    pub summary: &'static str,
    /// The content of the answer, and its sources.
    pub description: &'static str,
    /// When the call is refused uncharged, in addition to the refusals of every call.
    pub refuses: &'static str,
    /// The query parameters, without the two that every route takes.
    pub query: &'static [Parameter],
    /// The members of the JSON body; empty when the route takes none.
    pub body: &'static [Parameter],
    /// Rules over several parameters at once.
    pub constraints: &'static [Constraint],
    /// The parts whose absence refuses the call uncharged with `core_data_missing`.
    pub core: &'static [&'static str],
    /// The datasets that the work reads, or falls back to: `/freshness` states the age of each
    /// before a payment.
    pub datasets: &'static [Dataset],
    /// The cost of the work when it ends without a paid answer.
    pub work: WorkClass,
    /// How long the work may take, in seconds. A payment whose window closes earlier is refused
    /// before the work starts.
    pub work_seconds: u64,
    /// The `data` member of a real answer with one element of each list, as JSON text. The tests of
    /// `api-server` compare it with what the server answers.
    pub example: &'static str,
}

impl Route {
    /// Whether the route reads a JSON body.
    pub const fn takes_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// The place of the parameters in [`Route::constraints`]: `body` or `query`.
    pub const fn place(&self) -> &'static str {
        if self.takes_body() { "body" } else { "query" }
    }
}

/// Data that the service keeps and several routes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dataset {
    /// The tokens of the home chain.
    TokenList,
    /// The news, gathered every hour.
    News,
    /// The yields, gathered every half hour.
    YieldPools,
}

impl Dataset {
    /// Every dataset.
    pub const ALL: [Self; 3] = [Self::TokenList, Self::News, Self::YieldPools];

    /// Its name in `/freshness`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenList => "token-list",
            Self::News => "news",
            Self::YieldPools => "yield-pools",
        }
    }
}

/// The cost for the service when the work behind a route ends without a paid answer. Answers from a
/// cache cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkClass {
    /// Calls of data upstreams.
    Data,
    /// Calls of models, which are paid by the call.
    Model,
    /// Transactions that the service itself pays gas for.
    Transaction,
}

/// The method of an operation. For `HEAD` and `OPTIONS` see [`resolve`](crate::resolve).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Writes, and reads whose input is a body.
    Post,
    /// Cancels.
    Delete,
}

impl Method {
    /// The method as it is written in a request line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rule over several parameters of one route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// The two values must differ; text is compared without regard to case.
    Differ(&'static str, &'static str),
    /// Exactly one of the group is given.
    ExactlyOne(&'static [&'static str]),
    /// At most one of the group is given.
    AtMostOne(&'static [&'static str]),
    /// The first is given only together with the second.
    Requires(&'static str, &'static str),
    /// The first time is not after the second.
    Ordered(&'static str, &'static str),
}

impl Constraint {
    /// The names of a group of which an example has the first one: exactly one is accepted, or one
    /// instead of the payer's own address.
    pub(crate) fn alternatives(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::ExactlyOne(names) => Some(names),
            Self::AtMostOne(names) if names.contains(&"address") => Some(names),
            _ => None,
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differ(one, other) => write!(f, "`{one}` and `{other}` must differ"),
            Self::ExactlyOne(names) => {
                write!(f, "exactly one of `{}` is required", names.join("`, `"))
            }
            Self::AtMostOne(names) => write!(f, "at most one of `{}`", names.join("`, `")),
            Self::Requires(one, other) => {
                write!(f, "`{one}` is taken only together with `{other}`")
            }
            Self::Ordered(start, end) => write!(f, "`{end}` must not be before `{start}`"),
        }
    }
}
