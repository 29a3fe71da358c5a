//! Classifies refusals by how final they are for a payment.

use x402_wire::Reason;

/// How much a refusal decides about a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The message itself is defective, so no party can ever have settled it.
    Defect,
    /// A state of the chain or the clock refuses the payment now. The same code comes when an
    /// earlier attempt succeeded and used up the nonce, the balance or the time.
    Moment,
    /// The party that refuses does not know the reason.
    Vague,
}

pub(crate) fn weight(reason: &Reason) -> Weight {
    use Reason::*;
    match reason {
        InvalidExactEvmPayloadAuthorizationValueMismatch
        | InvalidExactEvmPayloadSignature
        | InvalidExactEvmPayloadRecipientMismatch
        | InvalidNetwork
        | InvalidPayload
        | InvalidPaymentRequirements
        | InvalidScheme
        | UnsupportedScheme
        | InvalidX402Version
        | AssetNotDeployedContract
        | Eip6492FactoryNotAllowed
        | MissingEip712Domain
        | NetworkMismatch
        | InvalidExactEvmTokenNameMismatch
        | InvalidExactEvmTokenVersionMismatch
        | InvalidExactEvmEip3009NotSupported
        | ResourceMismatch => Weight::Defect,
        InsufficientFunds
        | InvalidExactEvmInsufficientBalance
        | InvalidExactEvmNonceAlreadyUsed
        | InvalidExactEvmPayloadAuthorizationValidAfter
        | InvalidExactEvmPayloadAuthorizationValidBefore
        | InvalidExactEvmPayloadUndeployedSmartWallet
        | SmartWalletDeploymentFailed
        | InvalidExactEvmTransactionSimulationFailed
        | InvalidExactEvmTransferEventMismatch => Weight::Moment,
        Other(code) => other(code),
        // A code that is added later decides nothing until it is listed here.
        _ => Weight::Vague,
    }
}

/// Weighs codes that only the OKX broker uses (its page payment-error-handling). `permit2_*` cannot
/// concern an EIP-3009 payment, so these codes decide nothing.
fn other(code: &str) -> Weight {
    match code {
        "param_mismatch" | "unsupported_chain" | "invalid_signature" => Weight::Defect,
        "payer_blocked"
        | "risk_address"
        | "not_yet_valid"
        | "expired"
        | "nonce_used"
        | "insufficient_balance" => Weight::Moment,
        _ => Weight::Vague,
    }
}

/// Whether the refusal says that the authorization is used.
pub(crate) fn is_used(reason: &Reason) -> bool {
    match reason {
        // When a token does not revert for a used authorization, the transaction succeeds and moves
        // nothing.
        Reason::InvalidExactEvmNonceAlreadyUsed | Reason::InvalidExactEvmTransferEventMismatch => {
            true
        }
        Reason::Other(code) => code == "nonce_used",
        _ => false,
    }
}

/// Whether a settlement that succeeded could cause this refusal. The failure of a transaction could
/// not, because it used nothing. An unlisted code counts as if it could: the payment is then
/// unknown until the chain decides, and the payer waits. The opposite mistake would cost the payer
/// a second payment.
pub(crate) fn may_have_settled(reason: &Reason) -> bool {
    use Reason::{Cancelled, Other, UnexpectedSettleError};
    is_used(reason) || matches!(reason, Cancelled | UnexpectedSettleError | Other(_))
}

/// Whether the refusal says that its transaction is on the chain and failed.
pub(crate) fn is_failed(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::TransactionFailed | Reason::InvalidTransactionState
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_defects_of_the_message_decide_after_an_earlier_success() {
        for reason in Reason::NAMED {
            let text = reason.as_str();
            let state = text.contains("funds")
                || text.contains("balance")
                || text.contains("used")
                || text.contains("valid_before")
                || text.contains("unexpected")
                || text.contains("transaction")
                || text.contains("pending");
            if state {
                assert_ne!(weight(reason), Weight::Defect, "{text}");
            }
        }
        assert_eq!(weight(&Reason::from("nonce_used")), Weight::Moment);
        assert_eq!(weight(&Reason::from("onchain_error")), Weight::Vague);
        assert_eq!(weight(&Reason::from("never seen before")), Weight::Vague);
    }

    #[test]
    fn a_transfer_without_its_event_means_a_spent_authorization() {
        assert!(is_used(&Reason::InvalidExactEvmTransferEventMismatch));
        assert!(is_used(&Reason::from("nonce_used")));
        assert!(!is_used(&Reason::InsufficientFunds));
    }
}
