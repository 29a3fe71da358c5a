//! The meaning of a node's refusal of a transaction.

/// Why a node refused a transaction. Nodes hardly have codes for this, only messages. The messages
/// of geth, reth, erigon, nethermind and besu are known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The node already has the same transaction.
    Known,
    /// The nonce is used, by this or another transaction.
    NonceUsed,
    /// The node has another transaction with this nonce, and requires higher fees in both fields.
    Underpriced,
    /// Nonces before this one are missing.
    NonceAhead,
    /// The account cannot pay for the transaction.
    NoFunds,
    /// The fees are below the node's current minimum.
    FeesTooLow,
    /// The transaction is invalid for every node.
    Invalid,
    /// Any other message. It says nothing about the transaction: a gateway that fails or is too
    /// slow may have passed it on.
    Unclear,
}

impl Refusal {
    /// Reads the message of a node. The code is not exact enough: "nonce too low" comes with -32000
    /// and with -32603.
    #[must_use]
    pub fn read(message: &str) -> Self {
        let message = message.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        // "unknown transaction type" contains the words "known transaction".
        if !has(&["unknown transaction"])
            && has(&[
                "already known",
                "alreadyknown",
                "already imported",
                "known transaction",
                "existing tx with same hash",
            ])
        {
            Self::Known
        } else if has(&[
            "nonce too low",
            "nonce is too low",
            "oldnonce",
            "nonce too old",
        ]) {
            Self::NonceUsed
        } else if has(&[
            "replacement",
            "could not replace existing tx",
            "feetoolowtocompete",
            "gas price too low to replace",
        ]) {
            Self::Underpriced
        } else if has(&[
            "nonce too high",
            "nonce gap",
            "noncegap",
            "nonce is too high",
            "noncetoofarinfuture",
        ]) {
            Self::NonceAhead
        } else if has(&[
            "insufficient funds",
            "insufficientfunds",
            "insufficient balance",
            "upfront cost exceeds",
        ]) {
            Self::NoFunds
        } else if has(&[
            "underpriced",
            "max fee per gas less than block base fee",
            "fee cap less than block base fee",
            "feetoolow",
            "gas price below",
        ]) {
            Self::FeesTooLow
        } else if has(&[
            "intrinsic gas too low",
            "floor data gas",
            "exceeds block gas limit",
            "gas limit too high",
            "exceeds the configured cap",
            "max priority fee per gas higher than max fee per gas",
            "transaction type not supported",
            "unknown transaction type",
            "invalid chain id",
            "invalid sender",
            "max initcode size exceeded",
            "oversized data",
            "rlp:",
        ]) {
            Self::Invalid
        } else {
            Self::Unclear
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_recognised_by_their_words() {
        for (message, expected) in [
            ("already known", Refusal::Known),
            ("AlreadyKnown", Refusal::Known),
            ("existing tx with same hash", Refusal::Known),
            ("known transaction: 0xab", Refusal::Known),
            ("unknown transaction type", Refusal::Invalid),
            ("transaction type not supported", Refusal::Invalid),
            ("unknown transaction", Refusal::Unclear),
            (
                "nonce too low: next nonce 5, tx nonce 4",
                Refusal::NonceUsed,
            ),
            ("replacement transaction underpriced", Refusal::Underpriced),
            ("could not replace existing tx", Refusal::Underpriced),
            ("ReplacementNotAllowed", Refusal::Underpriced),
            ("FeeTooLowToCompete", Refusal::Underpriced),
            ("FeeTooLow", Refusal::FeesTooLow),
            ("nonce too high", Refusal::NonceAhead),
            ("NonceGap", Refusal::NonceAhead),
            (
                "OldNonce, Current nonce: 4, nonce of rejected tx: 3",
                Refusal::NonceUsed,
            ),
            (
                "insufficient funds for gas * price + value",
                Refusal::NoFunds,
            ),
            (
                "InsufficientFunds, Balance is 0 less than sending value",
                Refusal::NoFunds,
            ),
            ("transaction underpriced: tip needed 1", Refusal::FeesTooLow),
            (
                "max fee per gas less than block base fee: address",
                Refusal::FeesTooLow,
            ),
            ("intrinsic gas too low: gas 1", Refusal::Invalid),
            ("exceeds block gas limit", Refusal::Invalid),
            ("rate limited", Refusal::Unclear),
            ("txpool is full", Refusal::Unclear),
            ("request timed out", Refusal::Unclear),
            ("internal error", Refusal::Unclear),
        ] {
            assert_eq!(Refusal::read(message), expected, "{message}");
        }
    }
}
