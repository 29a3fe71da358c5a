//! How a paid call ends.

use ledger::StoredAnswer;

use super::Declined;
use crate::reply::ErrorReply;

/// How a paid call ends.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// Paid and answered.
    Served {
        /// The answer and its receipt.
        stored: StoredAnswer,
        /// Whether it had been served before; nothing was charged this time.
        again: bool,
    },
    /// The payment is no good: 402.
    Declined(Declined),
    /// The call is refused; nothing was charged, or it is not known yet.
    Refused(ErrorReply),
}

impl Outcome {
    /// For metrics and logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Served { again: false, .. } => "served",
            Self::Served { again: true, .. } => "served_again",
            Self::Declined(_) => "declined",
            Self::Refused(error) => error.code().code(),
        }
    }
}
