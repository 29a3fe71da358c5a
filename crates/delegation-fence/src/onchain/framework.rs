//! The contracts of the framework: their addresses, and the functions that are called.

use alloy_primitives::{Address, B256, address};
use alloy_sol_types::sol;

/// `DelegationManager` 1.3.0: at this address on every chain that has it, Base among them.
pub const MANAGER: Address = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// `EIP7702StatelessDeleGator`: the code that an account points to.
pub const IMPLEMENTATION: Address = address!("63c0c19a282a1B52b07dD5a65b58948A07DAE32B");
/// `TimestampEnforcer`: admits a redemption after the first time and before the second; zero sets
/// no bound.
pub const TIMESTAMP: Address = address!("1046bb45C8d673d4ea75321280DB34899413c069");
/// `RedeemerEnforcer`: admits the listed redeemers only, however the delegation was passed on.
pub const REDEEMER: Address = address!("E144b0b2618071B4E56f746313528a669c7E65c5");
/// `NonceEnforcer`: admits redemptions until the account raises its number.
pub const NONCE: Address = address!("DE4f2FAC4B3D87A1d9953Ca5FC09FCa7F366254f");
/// `ValueLteEnforcer`: limits the native coin of a call.
pub const VALUE_LTE: Address = address!("92Bf12322527cAA612fd31a0e810472BBB106A8F");
/// `AllowedTargetsEnforcer`: admits calls of the listed contracts only.
pub const ALLOWED_TARGETS: Address = address!("7F20f61b1f09b08D970938F6fa563634d65c4EeB");
/// `AllowedMethodsEnforcer`: admits the listed selectors only.
pub const ALLOWED_METHODS: Address = address!("2c21fD0Cb9DC8445CB3fb0DC5E7Bb0Aca01842B5");
/// `AllowedCalldataEnforcer`: requires these bytes at an offset, counted from the selector.
pub const ALLOWED_CALLDATA: Address = address!("c2b0d624c1c4319760C96503BA27C347F3260f55");
/// `ApprovalRevocationEnforcer`: admits only calls that revoke an allowance.
pub const APPROVAL_REVOCATION: Address = address!("e264F1f09A19505a1ca1a86D5b01E8bFdb64324A");

/// The authority of a delegation that an account gives itself.
pub(super) const ROOT: B256 = B256::repeat_byte(0xff);

pub(super) use self::interface::{
    Execution, OrderArgs, WireCaveat, WireDelegation, allowanceCall, approveCall, currentNonceCall,
    disableDelegationCall, disabledDelegationsCall, executeCall, redeemDelegationsCall,
};
pub(super) use self::typed::{Caveat as TypedCaveat, Delegation as TypedDelegation};

mod interface {
    #![allow(missing_docs, reason = "generated from the interface")]

    use super::sol;

    sol! {
        struct WireCaveat {
            address enforcer;
            bytes terms;
            bytes args;
        }

        struct WireDelegation {
            address delegate;
            address delegator;
            bytes32 authority;
            WireCaveat[] caveats;
            uint256 salt;
            bytes signature;
        }

        /// One call of a batch (ERC-7579).
        struct Execution {
            address target;
            uint256 value;
            bytes callData;
        }

        /// The order in the form for `FenceEnforcer`.
        struct OrderArgs {
            bytes32 payloadDigest;
            bytes32 callHash;
            address outputToken;
            uint256 minAmountOut;
            uint64 deadline;
        }

        function redeemDelegations(bytes[] permissionContexts, bytes32[] modes, bytes[] executionCallDatas) external;
        function disableDelegation(WireDelegation delegation) external;
        function disabledDelegations(bytes32 delegationHash) external view returns (bool);
        function currentNonce(address manager, address delegator) external view returns (uint256);
        /// The account's own function for its own calls.
        function execute(bytes32 mode, bytes executionCalldata) external payable;
        function allowance(address owner, address spender) external view returns (uint256);
        function approve(address spender, uint256 amount) external returns (bool);
    }
}

mod typed {
    #![allow(missing_docs, reason = "generated from the EIP-712 types")]

    use super::sol;

    sol! {
        struct Caveat {
            address enforcer;
            bytes terms;
        }

        struct Delegation {
            address delegate;
            address delegator;
            bytes32 authority;
            Caveat[] caveats;
            uint256 salt;
        }
    }
}
