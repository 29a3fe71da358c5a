//! The type of one row of the table: all facts about a paid route that need no request.

use std::fmt;

use x402_wire::MicroUsd;

use crate::Parameter;

/// A paid route: all facts about it that need no request.
///
/// The router, the 402 offer, OpenAPI, the discovery documents and the documentation are rendered
/// from these rows.
#[derive(Debug)]
pub struct Route {
    /// The method of this operation.
    pub method: Method,
    /// The path, without a trailing slash.
    pub path: &'static str,
    /// The path under which the resource counts. The yield-watch family is one resource; every
    /// other path is its own resource.
    pub resource: &'static str,
    /// The price of one call.
    pub price: MicroUsd,
    /// The summary in a few words.
    pub summary: &'static str,
    /// The content of the answer, and its sources.
    pub description: &'static str,
    /// When the call is refused uncharged, beside the refusals that every call can get.
    pub refuses: &'static str,
    /// The query parameters, without the two that every route takes.
    pub query: &'static [Parameter],
    /// The members of the JSON body. Empty when the route takes none.
    pub body: &'static [Parameter],
    /// Rules about several parameters together.
    pub constraints: &'static [Constraint],
    /// The parts of the answer without which the call is refused uncharged with
    /// `core_data_missing`.
    pub core: &'static [&'static str],
    /// The datasets that the work reads or falls back to. `/freshness` states the age of each
    /// before a payment.
    pub datasets: &'static [Dataset],
    /// The cost of the work for the service when it ends without a paid answer.
    pub work: WorkClass,
    /// How long the work may take, in seconds. A payment whose window closes before that is refused
    /// before the work starts.
    pub work_seconds: u64,
    /// The `data` member of a real answer with one element of each list, as JSON text. The tests of
    /// `api-server` compare it with the answer of the server.
    pub example: &'static str,
}

impl Route {
    /// Whether the route reads a JSON body.
    pub const fn takes_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// Returns a sentence about the time of an answer, if it may take longer than the clients of
    /// this chain wait. Every document has it.
    #[must_use]
    pub fn slowness(&self) -> Option<String> {
        (self.work_seconds > CLIENTS_WAIT_SECONDS)
            .then(|| format!("May take up to {} s.", self.work_seconds))
    }

    /// Returns where the parameters of [`Route::constraints`] are: `body` or `query`.
    pub const fn place(&self) -> &'static str {
        if self.takes_body() { "body" } else { "query" }
    }
}

/// How long the wallets and the marketplace of this chain wait for a paid answer.
const CLIENTS_WAIT_SECONDS: u64 = 30;

/// Data that the service keeps and that several routes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dataset {
    /// The tokens of the home chain.
    TokenList,
    /// The news, which the service gathers every hour.
    News,
    /// The yields, which the service gathers every half hour.
    YieldPools,
}

impl Dataset {
    /// Every dataset.
    pub const ALL: [Self; 3] = [Self::TokenList, Self::News, Self::YieldPools];

    /// Returns the name in `/freshness`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenList => "token-list",
            Self::News => "news",
            Self::YieldPools => "yield-pools",
        }
    }
}

/// The cost of a route's work for the service when it ends without a paid answer. An answer from a
/// cache costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkClass {
    /// Requests to data upstreams.
    Data,
    /// Requests to models, each of which costs money.
    Model,
    /// Transactions whose gas the service pays.
    Transaction,
}

/// The method of an operation. [`resolve`](crate::resolve) describes `HEAD` and `OPTIONS`.
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
    /// Returns the method as a request line has it.
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

/// A rule about several parameters of one route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// The two values must differ. The case of text does not matter.
    Differ(&'static str, &'static str),
    /// The caller gives exactly one of the group.
    ExactlyOne(&'static [&'static str]),
    /// The caller gives at most one of the group.
    AtMostOne(&'static [&'static str]),
    /// The caller gives the first only together with the second.
    Requires(&'static str, &'static str),
    /// The first time is not after the second.
    Ordered(&'static str, &'static str),
}

impl Constraint {
    /// Returns the names of a group of which the example call has the first. Exactly one of them is
    /// allowed, or at most one that replaces the payer's own address.
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
