//! The stable error codes of the HTTP interface.

use std::fmt::{self, Write as _};

macro_rules! error_codes {
    ($( $(#[doc = $meaning:literal])+ $variant:ident = $code:literal, $status:literal, $retryable:literal; )+) => {
        /// A stable error code with its HTTP status (listed in `docs/ERRORS.md`).
        ///
        /// A call that ends with an error has charged nothing that the server knows of. After
        /// [`ErrorCode::SettlementPending`], and after a 402 whose `next` is `wait`, the payment
        /// may still be charged: the same payment then fetches the stored answer.
        ///
        /// `retryable` answers one question: can the same call (method, path, query, body) succeed
        /// when it is sent again, with a payment or later, without changing what is asked?
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $( $(#[doc = $meaning])+ $variant, )+
        }

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$( Self::$variant ),+];

            /// The snake_case text on the wire.
            pub const fn code(self) -> &'static str {
                match self { $( Self::$variant => $code ),+ }
            }

            /// The HTTP status of the answer.
            pub const fn status(self) -> u16 {
                match self { $( Self::$variant => $status ),+ }
            }

            /// Whether the same call can succeed when sent again unchanged.
            pub const fn retryable(self) -> bool {
                match self { $( Self::$variant => $retryable ),+ }
            }

            /// One sentence for documents.
            pub const fn meaning(self) -> &'static str {
                match self { $( Self::$variant => concat!($( $meaning ),+).trim_ascii_start() ),+ }
            }
        }
    };
}

error_codes! {
    /// The call carries no valid payment; the answer holds the accepted payments and the price.
    PaymentRequired = "payment_required", 402, true;
    /// One or more parameters break their rules; all of them are listed with their paths.
    InvalidParams = "invalid_params", 400, false;
    /// The path or the requested identifier is unknown.
    NotFound = "not_found", 404, false;
    /// The payer has no sub-wallet. `GET /sub-wallet` makes it; no other route does. The payment is
    /// unused.
    NoSubWallet = "no_sub_wallet", 404, false;
    /// The path does not take this method; the answer names the methods that it takes.
    MethodNotAllowed = "method_not_allowed", 405, false;
    /// Another request with the same payment is in progress.
    PaymentInFlight = "payment_in_flight", 409, true;
    /// Whether an earlier payment of the same payer for the same request was settled is not decided
    /// yet. This payment was not used.
    PurchaseUndecided = "purchase_undecided", 409, true;
    /// An earlier payment of the same payer has begun the same action or mandate; the answer names
    /// it. This payment was not used.
    ActionRepeated = "action_repeated", 409, false;
    /// The payer has used the payment identifier for another request. This payment was not used.
    IdentifierTaken = "identifier_taken", 409, false;
    /// The payment belongs to another request or came with another signature (`reason`
    /// `another_request`), its answer is no longer kept (`answer_expired`), its answer is about the
    /// payer's own wallet and is not given again to this call (`answer_private`), or the chain
    /// shows that it has paid and the ledger has no record of it (`no_answer`).
    PaymentBoundElsewhere = "payment_bound_elsewhere", 409, false;
    /// The sub-wallet does not hold enough funds for the action; the answer names its address.
    FundsRequired = "funds_required", 409, true;
    /// The body is larger than the server accepts.
    PayloadTooLarge = "payload_too_large", 413, false;
    /// The body is compressed or not JSON.
    UnsupportedMediaType = "unsupported_media_type", 415, false;
    /// The request is well formed, but this service does not support it.
    Unsupported = "unsupported", 422, false;
    /// What goes in or comes out of the exchange has no price on which independent sources agree,
    /// so nothing is signed.
    WorthUnknown = "worth_unknown", 422, true;
    /// Less comes out of the exchange than the limit allows, by the quote's own statement or at the
    /// prices of independent sources. `max_price_impact_bps` loosens the limit up to the operator's
    /// ceiling.
    PriceImpactTooHigh = "price_impact_too_high", 422, false;
    /// According to the quote, one of the tokens can be bought but not sold.
    TokenIsHoneypot = "token_is_honeypot", 422, false;
    /// According to the quote, one of the tokens keeps more of a transfer than the operator allows.
    TokenTaxTooHigh = "token_tax_too_high", 422, false;
    /// Too many requests; `Retry-After` says when to come back.
    RateLimited = "rate_limited", 429, true;
    /// The request headers are larger than the server accepts.
    HeadersTooLarge = "headers_too_large", 431, false;
    /// The core data of the answer is unavailable.
    CoreDataMissing = "core_data_missing", 503, true;
    /// Every source that could answer is unavailable or disabled.
    UpstreamUnavailable = "upstream_unavailable", 503, true;
    /// This server makes no further sub-wallets; payers that have one are not affected.
    WalletsFull = "wallets_full", 503, false;
    /// The settlement was sent and its outcome is not known yet; the same payment fetches it later.
    SettlementPending = "settlement_pending", 503, true;
    /// The payment ledger cannot be read or written, so it is unknown whether the payment was used.
    /// Send the same payment again.
    LedgerUnavailable = "ledger_unavailable", 503, true;
    /// A fault of the service.
    Internal = "internal", 500, false;
}

impl ErrorCode {
    /// Returns the codes that have this HTTP status.
    pub fn with_status(status: u16) -> impl Iterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(move |code| code.status() == status)
    }

    /// Makes the Markdown table of all codes for the documentation.
    pub fn docs_table() -> String {
        let mut table =
            String::from("| Code | Status | Retryable | Meaning |\n|---|---|---|---|\n");
        for code in Self::ALL {
            let retryable = if code.retryable() { "yes" } else { "no" };
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                table,
                "| `{}` | {} | {retryable} | {} |",
                code.code(),
                code.status(),
                code.meaning()
            );
        }
        table
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_snake_case() {
        for (index, code) in ErrorCode::ALL.iter().enumerate() {
            let text = code.code();
            assert!(
                text.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                "{text}"
            );
            assert!(
                ErrorCode::ALL[..index]
                    .iter()
                    .all(|earlier| earlier.code() != text)
            );
        }
    }

    #[test]
    fn the_documented_table() {
        insta::assert_snapshot!(ErrorCode::docs_table());
    }
}
