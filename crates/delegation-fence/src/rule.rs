//! The names of the rules, each with its class. Programs branch on them, so a name never changes.

use std::fmt;

/// The meaning of a refusal for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A document or signature that cannot be read: the same bytes are refused everywhere.
    Malformed,
    /// A grant, a limit, an order or the fence refuses.
    Refused,
    /// The thing is unknown.
    NotFound,
    /// It conflicts with a message that was accepted before.
    Conflict,
    /// It cannot be judged now.
    Unavailable,
}

macro_rules! rules {
    ($($class:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* })*) => {
        /// A rule of the fence that can refuse: a stable name that programs branch on.
        ///
        /// # Example
        /// ```
        /// use delegation_fence::{Class, Rule};
        ///
        /// assert_eq!(Rule::GrantRevoked.as_str(), "grant_revoked");
        /// assert_eq!(Rule::PlanInFlight.class(), Class::Conflict);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $($($(#[$doc])* $variant,)*)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$variant => $name,)*)*
                }
            }

            /// The meaning of a refusal by this rule for the caller.
            #[must_use]
            pub const fn class(self) -> Class {
                match self {
                    $($(Self::$variant)|* => Class::$class,)*
                }
            }
        }
    };
}

rules! {
    Malformed {
        /// A policy that is not JSON, or has a missing, unknown, duplicate or mistyped member.
        PolicyMalformed = "policy_malformed",
        /// A policy that says what this fence does not enforce.
        PolicyUnenforceable = "policy_unenforceable",
        /// Typed data with a missing, unknown, duplicate or mistyped member.
        TypedDataMalformed = "typed_data_malformed",
        /// Typed data whose types are not those of its message, or whose primary type is another
        /// one.
        TypedDataTypes = "typed_data_types",
        /// A JSON number that not every reader reads as the same integer.
        TypedDataNumberUnsafe = "typed_data_number_unsafe",
        /// A time after the year 9999: milliseconds where seconds are meant.
        TimeOutOfRange = "time_out_of_range",
        /// A signature that is not 65 bytes.
        SignatureLength = "signature_length",
        /// A signature in the 64-byte form of EIP-2098.
        SignatureCompact = "signature_compact",
        /// A signature wrapped for a contract that does not exist yet (ERC-6492).
        SignatureWrapped = "signature_wrapped",
        /// A last byte other than 27 and 28.
        SignatureRecoveryId = "signature_recovery_id",
        /// An `s` in the upper half: the twin of another signature.
        SignatureHighS = "signature_high_s",
        /// An `r` or `s` of zero.
        SignatureZero = "signature_zero",
        /// A signature of no key.
        SignatureUnrecoverable = "signature_unrecoverable",
        /// A delegation that cannot be read, passes another one on, or has a caveat with args.
        DelegationMalformed = "delegation_malformed",
        /// A log that cannot be read.
        LogMalformed = "log_malformed",
    }
    Refused {
        /// The domain has another name.
        DomainNameMismatch = "domain_name_mismatch",
        /// The domain is of another chain.
        DomainChainMismatch = "domain_chain_mismatch",
        /// The domain is of another instance of the service.
        DomainSaltMismatch = "domain_salt_mismatch",
        /// The message names another chain than its domain.
        MessageChainMismatch = "message_chain_mismatch",
        /// The fence's policy that was read back has another name than the pinned one.
        FenceNameMismatch = "fence_name_mismatch",
        /// The fence's policy that was read back has another digest than the pinned one.
        FenceDigestMismatch = "fence_digest_mismatch",
        /// The policy does not list the tokens that a swap may end in.
        PolicyWithoutOutputTokens = "policy_without_output_tokens",
        /// The fee configuration does not review the policy's router on its chain.
        PolicyRouterUnreviewed = "policy_router_unreviewed",
        /// An account of a kind that nothing is sent for.
        AccountKindUnsupported = "account_kind_unsupported",
        /// An account that is not the caller's own.
        AccountNotOwned = "account_not_owned",
        /// The grant is signed by another key than its account's.
        GrantNotByAccount = "grant_not_by_account",
        /// The grant is for a policy of another name.
        GrantPolicyNameMismatch = "grant_policy_name_mismatch",
        /// The grant is for other rules.
        GrantPolicyDigestMismatch = "grant_policy_digest_mismatch",
        /// The grant is for another project.
        GrantProjectMismatch = "grant_project_mismatch",
        /// The grant is for another capability.
        GrantCapabilityMismatch = "grant_capability_mismatch",
        /// The delegate is zero or the address that means anybody.
        GrantDelegateInvalid = "grant_delegate_invalid",
        /// The delegate is a key of the service where it must not be.
        GrantDelegateIsService = "grant_delegate_is_service",
        /// The cap is zero.
        GrantCapZero = "grant_cap_zero",
        /// The cap is above the policy's.
        GrantCapAbovePolicy = "grant_cap_above_policy",
        /// The grant's id is zero, which in a revocation means all grants.
        GrantIdZero = "grant_id_zero",
        /// Another grant of this account has this id.
        GrantIdTaken = "grant_id_taken",
        /// The grant was issued in the future.
        GrantIssuedInFuture = "grant_issued_in_future",
        /// The grant ends before it begins or was issued.
        GrantWindowEmpty = "grant_window_empty",
        /// The grant lives longer than a grant may.
        GrantLifetimeTooLong = "grant_lifetime_too_long",
        /// The grant ends later from now than a grant may live.
        GrantEndsTooLate = "grant_ends_too_late",
        /// The grant has not begun.
        GrantNotYetValid = "grant_not_yet_valid",
        /// The grant is over.
        GrantExpired = "grant_expired",
        /// The grant is revoked.
        GrantRevoked = "grant_revoked",
        /// The grant is for a policy that another one has replaced.
        GrantSuperseded = "grant_superseded",
        /// The account has as many live grants as an account may have.
        TooManyGrants = "too_many_grants",
        /// The account has revoked as many grants that never came as an account may.
        TooManyRevocations = "too_many_revocations",
        /// The grant ends at or before the plan's end.
        GrantExpiresBeforeValidUntil = "grant_expires_before_valid_until",
        /// The revocation is signed by another key than its account's.
        RevocationNotByAccount = "revocation_not_by_account",
        /// The revocation is for another project.
        RevocationProjectMismatch = "revocation_project_mismatch",
        /// The revocation's time is too far from the clock.
        RevocationTimeSkewed = "revocation_time_skewed",
        /// The limit is signed by another key than its account's.
        LimitNotByAccount = "limit_not_by_account",
        /// The limit was issued in the future.
        LimitIssuedInFuture = "limit_issued_in_future",
        /// As many swaps as the holder allowed were signed.
        LimitSwapsUsed = "limit_swaps_used",
        /// The swap would bring the outflow of 24 hours above the holder's limit.
        LimitOutflow = "limit_outflow",
        /// The order is signed by another key than the grant's delegate.
        OrderNotByDelegate = "order_not_by_delegate",
        /// The order's deadline has passed.
        OrderDeadlinePassed = "order_deadline_passed",
        /// The order's minimum is zero or above the minimum in the calldata.
        OrderMinOutInvalid = "order_min_out_invalid",
        /// The order, the body of the submission and the plan do not name the same things.
        OrderMismatch = "order_mismatch",
        /// The plan does not verify for the request; the check that refuses it is named beside.
        EnvelopeUnverified = "envelope_unverified",
        /// Too little of the plan's life is left to begin, or none to continue.
        PlanExpired = "plan_expired",
        /// The plan is for another chain than the policy.
        FenceChain = "fence_chain",
        /// The plan is for another account, or an account of another kind, than the grant.
        FenceAccount = "fence_account",
        /// The plan is by other fees than the policy names.
        FenceFeeVersion = "fence_fee_version",
        /// The plan carries another integrator than the policy names.
        FenceIntegrator = "fence_integrator",
        /// A token other than the policy's input token is approved or deposited.
        FenceInputToken = "fence_input_token",
        /// Somebody other than the router is approved.
        FenceSpender = "fence_spender",
        /// The call goes elsewhere than to the router.
        FenceRouter = "fence_router",
        /// The call has none of the policy's shapes.
        FenceShape = "fence_shape",
        /// A step carries native coin.
        FenceNativeValue = "fence_native_value",
        /// The router pays somebody other than the account.
        FenceReceiver = "fence_receiver",
        /// The output is the input token, or a token that the policy does not list.
        FenceOutputToken = "fence_output_token",
        /// The calldata guarantees no output.
        FenceMinOut = "fence_min_out",
        /// The approved amount is above the cap.
        FenceApproveCap = "fence_approve_cap",
        /// The deposits together are above the cap.
        FenceDepositCap = "fence_deposit_cap",
        /// The quoted input is above the cap.
        FenceQuoteCap = "fence_quote_cap",
        /// The approved amount, the deposits and the quoted input are not one amount.
        FenceAmountsDiffer = "fence_amounts_differ",
        /// The input token's price is too far from its peg.
        FencePeg = "fence_peg",
        /// The plan promises less than current prices do, by more than the service takes.
        FencePrice = "fence_price",
        /// The plan's tokens have no prices on which independent sources agree.
        WorthUnknown = "worth_unknown",
        /// The plan's minimum is worth less than its input, by more than the operator allows any
        /// swap.
        PriceImpactTooHigh = "price_impact_too_high",
        /// The account holds less of the input token than the plan takes.
        BalanceTooLow = "balance_too_low",
        /// A step of the plan would revert on the chain as it is now.
        PlanWouldRevert = "plan_would_revert",
        /// The plan takes less than the service sends a plan for.
        OrderTooSmall = "order_too_small",
        /// The day's budget for gas does not cover another plan.
        GasBudgetExhausted = "gas_budget_exhausted",
        /// A delegation of the grant is missing.
        DelegationsMissing = "delegations_missing",
        /// There is a delegation that the grant does not promise.
        DelegationUnexpected = "delegation_unexpected",
        /// The delegation is of another account.
        DelegationDelegatorMismatch = "delegation_delegator_mismatch",
        /// The delegation is for another redeemer.
        DelegationRedeemerMismatch = "delegation_redeemer_mismatch",
        /// The redeemer is zero, the address that means anybody, or the account itself.
        DelegationRedeemerInvalid = "delegation_redeemer_invalid",
        /// The delegation lacks a caveat of the grant.
        DelegationCaveatMissing = "delegation_caveat_missing",
        /// The delegation has a caveat that the grant does not promise, or one in another place.
        DelegationCaveatUnexpected = "delegation_caveat_unexpected",
        /// A caveat says something else than the grant.
        DelegationCaveatTerms = "delegation_caveat_terms",
        /// The delegation is signed by another key than its account's, or for another chain.
        DelegationNotByAccount = "delegation_not_by_account",
        /// The amount is above what the delegations allow.
        DelegationCap = "delegation_cap",
        /// The manager has a delegation of the grant disabled.
        DelegationDisabled = "delegation_disabled",
        /// The account has counted up since it signed its delegations, or they name another number
        /// than its present one.
        DelegationNonceMismatch = "delegation_nonce_mismatch",
        /// The router may already take a token from the account.
        RouterAllowanceOpen = "router_allowance_open",
        /// The account does not run the framework's code.
        AccountCodeMismatch = "account_code_mismatch",
        /// The authorization would count on every chain.
        AuthorizationAnyChain = "authorization_any_chain",
        /// The authorization is for the code of another contract.
        AuthorizationImplementation = "authorization_implementation",
        /// A record's hash is not that of its content.
        LogHash = "log_hash",
        /// A record does not follow the one before it.
        LogChain = "log_chain",
        /// A record's number is not the next one.
        LogSequence = "log_sequence",
        /// A record is older than the one before it.
        LogTime = "log_time",
        /// A plan was admitted after the revocation.
        LogUseAfterRevocation = "log_use_after_revocation",
        /// The log does not contain what the receipt was given for.
        ReceiptNotInLog = "receipt_not_in_log",
    }
    NotFound {
        /// No such grant.
        GrantNotFound = "grant_not_found",
    }
    Conflict {
        /// The plan was ordered before, by another order or under another grant.
        OrderAlreadyUsed = "order_already_used",
        /// Another plan of the person who signed the grant is being sent.
        PlanInFlight = "plan_in_flight",
    }
    Unavailable {
        /// The fence's policy cannot be read back.
        FenceUnreadable = "fence_unreadable",
        /// The revocations of accounts that the service does not know are full.
        RevocationsFull = "revocations_full",
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
