//! An order in a plan, with every member in its JSON type.
//!
//! This crate reads no JSON: the caller reads it and passes the members in these types. A JSON
//! number stays a number, a JSON string stays text, so that the decoder sees the same values as the
//! caller's signer and the venue. The types judge nothing.

/// The members of a plan that the order's facts are decoded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedOrder<'a> {
    /// The message that the caller signs.
    pub typed_data: TypedData<'a>,
    /// The order in the form of the venue's clients.
    pub order: RestOrder<'a>,
    /// The order hash that the plan announces.
    pub order_hash: &'a str,
    /// The body that the caller posts.
    pub post: Post<'a>,
    /// The approval that the order needs.
    pub approval: Approval<'a>,
}

/// The argument of `eth_signTypedData_v4` (EIP-712).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedData<'a> {
    /// `types.EIP712Domain`.
    pub domain_members: Vec<Member<'a>>,
    /// `types.Order`.
    pub order_members: Vec<Member<'a>>,
    /// `primaryType`.
    pub primary_type: &'a str,
    /// `domain`.
    pub domain: DomainText<'a>,
    /// `message`.
    pub message: Message<'a>,
}

/// A member of a struct type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// The member's name.
    pub name: &'a str,
    /// The member's Solidity type.
    pub kind: &'a str,
}

/// The domain of the typed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainText<'a> {
    /// `name`.
    pub name: &'a str,
    /// `version`.
    pub version: &'a str,
    /// `chainId`, a JSON number.
    pub chain_id: u64,
    /// `verifyingContract`.
    pub verifying_contract: &'a str,
}

/// The message of the typed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// `salt`, digits.
    pub salt: &'a str,
    /// `maker`.
    pub maker: &'a str,
    /// `signer`.
    pub signer: &'a str,
    /// `tokenId`, digits.
    pub token_id: &'a str,
    /// `makerAmount`, digits.
    pub maker_amount: &'a str,
    /// `takerAmount`, digits.
    pub taker_amount: &'a str,
    /// `side`, a JSON number.
    pub side: u64,
    /// `signatureType`, a JSON number.
    pub signature_type: u64,
    /// `timestamp`, digits.
    pub timestamp: &'a str,
    /// `metadata`.
    pub metadata: &'a str,
    /// `builder`.
    pub builder: &'a str,
}

/// The order in the venue's REST form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestOrder<'a> {
    /// `salt`: digits in a client's order; for a post body, the digits of its JSON number.
    pub salt: &'a str,
    /// `maker`.
    pub maker: &'a str,
    /// `signer`.
    pub signer: &'a str,
    /// `tokenId`, digits.
    pub token_id: &'a str,
    /// `makerAmount`, digits.
    pub maker_amount: &'a str,
    /// `takerAmount`, digits.
    pub taker_amount: &'a str,
    /// `side`: `BUY` or `SELL`.
    pub side: &'a str,
    /// `signatureType`, a JSON number.
    pub signature_type: u64,
    /// `timestamp`, digits.
    pub timestamp: &'a str,
    /// `expiration`, digits.
    pub expiration: &'a str,
    /// `metadata`.
    pub metadata: &'a str,
    /// `builder`.
    pub builder: &'a str,
}

/// The HTTP call that places the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Post<'a> {
    /// The method.
    pub method: &'a str,
    /// The path.
    pub path: &'a str,
    /// `deferExec` of the body.
    pub defer_exec: bool,
    /// `postOnly` of the body.
    pub post_only: bool,
    /// `orderType` of the body.
    pub order_type: &'a str,
    /// `order` of the body, unsigned.
    pub order: RestOrder<'a>,
}

/// An approval that the caller's account needs before the venue accepts the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approval<'a> {
    /// The token contract to call.
    pub contract: &'a str,
    /// The signature of the function to call.
    pub function: &'a str,
    /// The contract that may move the tokens.
    pub spender: &'a str,
    /// The most that the spender may move, in the smallest unit.
    pub amount: &'a str,
}
