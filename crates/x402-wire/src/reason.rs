//! Reason codes of x402 v2 section 9 and of the EVM `exact` scheme.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// The reason why a payment was refused: a code that clients branch on.
        ///
        /// # Example
        /// ```
        /// use x402_wire::Reason;
        ///
        /// let reason = Reason::from("insufficient_funds"); // from a receipt or a facilitator
        /// assert_eq!(reason, Reason::InsufficientFunds);
        /// assert_eq!(reason.as_str(), "insufficient_funds");
        /// assert!(matches!(Reason::from("risk_address"), Reason::Other(_)));
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
            /// Any other code of a facilitator: at most 80 characters of visible ASCII, because it
            /// goes into headers and logs.
            Other(String),
        }

        impl Reason {
            /// Every code that has a variant of its own.
            pub const NAMED: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the code that messages contain.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for Reason {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text.chars().filter(char::is_ascii_graphic).take(80).collect()),
                }
            }
        }
    };
}

reasons! {
    /// The payer does not have enough of the asset.
    InsufficientFunds = "insufficient_funds",
    /// The authorization starts in the future.
    InvalidExactEvmPayloadAuthorizationValidAfter = "invalid_exact_evm_payload_authorization_valid_after",
    /// The authorization ends too early or too late.
    InvalidExactEvmPayloadAuthorizationValidBefore = "invalid_exact_evm_payload_authorization_valid_before",
    /// The authorization is not for exactly the price.
    InvalidExactEvmPayloadAuthorizationValueMismatch = "invalid_exact_evm_payload_authorization_value_mismatch",
    /// The signature is not the payer's.
    InvalidExactEvmPayloadSignature = "invalid_exact_evm_payload_signature",
    /// The authorization pays another account.
    InvalidExactEvmPayloadRecipientMismatch = "invalid_exact_evm_payload_recipient_mismatch",
    /// The network is unknown.
    InvalidNetwork = "invalid_network",
    /// The payment is malformed.
    InvalidPayload = "invalid_payload",
    /// The requirements do not equal the offered ones.
    InvalidPaymentRequirements = "invalid_payment_requirements",
    /// The scheme is invalid.
    InvalidScheme = "invalid_scheme",
    /// The scheme cannot be settled here.
    UnsupportedScheme = "unsupported_scheme",
    /// Nothing but the word of a facilitator or broker says that the payer signed. That is not
    /// enough for what concerns the payer's own wallet.
    PaymentNotProven = "payment_not_proven",
    /// The message has another protocol version.
    InvalidX402Version = "invalid_x402_version",
    /// The settlement transaction failed on chain.
    InvalidTransactionState = "invalid_transaction_state",
    /// A facilitator failed to verify.
    UnexpectedVerifyError = "unexpected_verify_error",
    /// A facilitator failed to settle.
    UnexpectedSettleError = "unexpected_settle_error",
    /// There is no contract at the asset's address.
    AssetNotDeployedContract = "asset_not_deployed_contract",
    /// The contract wallet does not exist yet.
    InvalidExactEvmPayloadUndeployedSmartWallet = "invalid_exact_evm_payload_undeployed_smart_wallet",
    /// The contract wallet could not be deployed.
    SmartWalletDeploymentFailed = "smart_wallet_deployment_failed",
    /// The ERC-6492 factory is not on the list.
    Eip6492FactoryNotAllowed = "eip6492_factory_not_allowed",
    /// The authorization's nonce is used.
    InvalidExactEvmNonceAlreadyUsed = "invalid_exact_evm_nonce_already_used",
    /// The payer does not have enough of the asset (facilitators of the 2.2x line).
    InvalidExactEvmInsufficientBalance = "invalid_exact_evm_insufficient_balance",
    /// `extra.name` or `extra.version` is missing.
    MissingEip712Domain = "missing_eip712_domain",
    /// The network differs from the offered one.
    NetworkMismatch = "network_mismatch",
    /// The signature could not be judged.
    InvalidExactEvmFailedToVerifySignature = "invalid_exact_evm_failed_to_verify_signature",
    /// The authorization was cancelled, or used for something else. It can never pay.
    Cancelled = "cancelled",
    /// The settlement transaction failed.
    TransactionFailed = "transaction_failed",
    /// The outcome of a settlement is not known yet. This is not a failure.
    SettlementPending = "settlement_pending",
    /// The asset's EIP-712 name differs.
    InvalidExactEvmTokenNameMismatch = "invalid_exact_evm_token_name_mismatch",
    /// The asset's EIP-712 version differs.
    InvalidExactEvmTokenVersionMismatch = "invalid_exact_evm_token_version_mismatch",
    /// The asset has no EIP-3009.
    InvalidExactEvmEip3009NotSupported = "invalid_exact_evm_eip3009_not_supported",
    /// The settlement would revert.
    InvalidExactEvmTransactionSimulationFailed = "invalid_exact_evm_transaction_simulation_failed",
    /// The settlement transaction moved no money.
    InvalidExactEvmTransferEventMismatch = "invalid_exact_evm_transfer_event_mismatch",
    /// The payment names another resource than the requested one.
    ResourceMismatch = "resource_mismatch",
    /// The payer has code (EIP-1271, EIP-7702), and only the accounts of keys can pay.
    UnsupportedContractWallet = "unsupported_contract_wallet",
    /// The payment flow was not offered.
    UnsupportedPaymentFlow = "unsupported_payment_flow",
    /// The way of moving the asset was not offered.
    UnsupportedTransferMethod = "unsupported_transfer_method",
    /// The request has more than one payment header.
    DuplicatePaymentHeader = "duplicate_payment_header",
    /// The payment header is one of x402 v1.
    UnsupportedX402V1 = "unsupported_x402_v1",
    /// The request has no payment header.
    PaymentMissing = "payment_missing",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_stable() {
        let codes: Vec<_> = Reason::NAMED.iter().map(Reason::as_str).collect();
        insta::assert_snapshot!(codes.join("\n"));
        for reason in Reason::NAMED {
            assert_eq!(&Reason::from(reason.as_str()), reason);
        }
    }

    #[test]
    fn foreign_codes_are_kept_but_clipped() {
        let reason = Reason::from(format!("risk_\u{20ae} address\n{}", "x".repeat(500)).as_str());
        assert!(reason.as_str().starts_with("risk_addressx"));
        assert_eq!(reason.as_str().len(), 80);
    }
}
