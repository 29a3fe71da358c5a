//! The meaning of a node's refusal of a transaction, and the amounts that it states.

use alloy_primitives::U256;

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

    /// Returns the balance that a refusal for lack of coins demands, in wei. Only the node knows
    /// it where the chain adds fees to the gas. `None` when the message states none.
    #[must_use]
    pub fn needed(message: &str) -> Option<U256> {
        if Self::read(message) != Self::NoFunds {
            return None;
        }
        // The costs of transactions that wait are in `overshot`, and not in `tx cost`.
        match (number(message, "balance "), number(message, "overshot ")) {
            (Some(balance), Some(overshot)) => Some(balance.saturating_add(overshot)),
            _ => number(message, "want ").or_else(|| number(message, "tx cost ")),
        }
    }

    /// Returns the least tip that a refusal of too low fees demands, in wei per gas. `None` when
    /// the message states none.
    #[must_use]
    pub fn least_tip(message: &str) -> Option<u128> {
        let is_of_tips = message.to_ascii_lowercase().contains("tip");
        if !is_of_tips || Self::read(message) != Self::FeesTooLow {
            return None;
        }
        number(message, "minimum needed ")?.try_into().ok()
    }
}

/// Reads the decimal number that follows the words in a message.
fn number(message: &str, words: &str) -> Option<U256> {
    let message = message.to_ascii_lowercase();
    let (_, rest) = message.split_once(words)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    let digits = rest.get(..end.unwrap_or(rest.len()))?;
    U256::from_str_radix(Some(digits).filter(|digits| !digits.is_empty())?, 10).ok()
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

    #[test]
    fn the_amounts_of_refusals_are_read() {
        for (message, needed) in [
            (
                "insufficient funds for gas * price + value: balance 70, tx cost 100, overshot 30",
                Some(100),
            ),
            (
                "insufficient funds for gas * price + value: balance 70, queued cost 50, tx cost 100, overshot 80",
                Some(150),
            ),
            (
                "insufficient funds for gas * price + value: have 7 want 9",
                Some(9),
            ),
            (
                "insufficient funds for gas * price + value: address 0x12 have 7 want 9",
                Some(9),
            ),
            ("insufficient funds for gas * price + value", None),
            ("insufficient funds: want x", None),
            ("transaction underpriced: have 7 want 9", None),
        ] {
            assert_eq!(
                Refusal::needed(message),
                needed.map(U256::from),
                "{message}"
            );
        }
        for (message, tip) in [
            (
                "transaction underpriced: gas tip cap 1, minimum needed 5",
                Some(5),
            ),
            ("transaction underpriced: tip needed 1", None),
            ("intrinsic gas too low: gas 1, minimum needed 5", None),
            ("insufficient funds for tip: minimum needed 5", None),
        ] {
            assert_eq!(Refusal::least_tip(message), tip, "{message}");
        }
        // No number is too long to be read as none.
        let long = format!("insufficient funds: have 1 want {}", "9".repeat(90));
        assert_eq!(Refusal::needed(&long), None);
    }
}
