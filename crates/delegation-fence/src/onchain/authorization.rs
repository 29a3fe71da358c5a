//! The authorization that gives an account the framework's code (EIP-7702).

use alloy_eip7702::{Authorization as Tuple, SignedAuthorization as SignedTuple};
use alloy_primitives::{Address, B256, Bytes, U256};

use super::framework::IMPLEMENTATION;
use crate::{Refusal, Rule, Signature};

/// An account's authorization to run the code of another contract, or of none.
///
/// # Example
/// ```
/// use alloy_primitives::address;
/// use delegation_fence::{Rule, Signature, onchain::{Authorization, IMPLEMENTATION}};
///
/// let authorization = Authorization::new(8453, IMPLEMENTATION, 0)?;
/// // As `cast wallet sign-auth` signs and prints it, for the local chain's test key 1.
/// let r = "b3596cae5f5ab2544f40f028295fd4b1f91b1deffb2f978fcad2671fe33bf1e7";
/// let s = "27bf07d68661d35770cbe1149efeabdb8ab17c16a2b0d18ecc2b01c093be212e";
/// let signature = Signature::parse(&format!("0x{r}{s}1b"))?;
/// let signer = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
/// assert_eq!(signature.recover(authorization.digest())?, signer);
/// assert_eq!(
///     authorization.sign_with(&signature).to_rlp().to_string(),
///     format!("0xf85c8221059463c0c19a282a1b52b07dd5a65b58948a07dae32b8080a0{r}a0{s}"),
/// );
/// // Chain 0 means every chain.
/// assert_eq!(Authorization::new(0, IMPLEMENTATION, 0).unwrap_err().rule, Rule::AuthorizationAnyChain);
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization(Tuple);

/// An authorization with its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAuthorization(SignedTuple);

impl Authorization {
    /// Lets the account run the code at `implementation`: the framework's, or the zero address for
    /// none. `nonce` is the account's next one, plus one where the account itself sends the
    /// transaction.
    ///
    /// # Errors
    /// `authorization_any_chain` for chain 0, `authorization_implementation` for the code of
    /// another contract: that code would decide the meaning of delegations that were given before.
    pub fn new(chain_id: u64, implementation: Address, nonce: u64) -> Result<Self, Refusal> {
        if chain_id == 0 {
            return Err(Refusal::new(
                Rule::AuthorizationAnyChain,
                "the authorization would count on every chain",
                "one chain's id",
                chain_id,
            ));
        }
        if implementation != IMPLEMENTATION && !implementation.is_zero() {
            return Err(Refusal::new(
                Rule::AuthorizationImplementation,
                "the authorization is for the code of another contract",
                IMPLEMENTATION,
                implementation,
            ));
        }
        Ok(Self(Tuple {
            chain_id: U256::from(chain_id),
            address: implementation,
            nonce,
        }))
    }

    /// The signed digest.
    #[must_use]
    pub fn digest(&self) -> B256 {
        self.0.signature_hash()
    }

    /// Adds the signature.
    #[must_use]
    pub fn sign_with(self, signature: &Signature) -> SignedAuthorization {
        let (r, s, v) = signature.parts();
        SignedAuthorization(SignedTuple::new_unchecked(self.0, u8::from(v == 28), r, s))
    }
}

impl SignedAuthorization {
    /// As RLP, for `cast send --auth`.
    #[must_use]
    pub fn to_rlp(&self) -> Bytes {
        alloy_rlp::encode(&self.0).into()
    }

    /// As JSON, in the form of a transaction's `authorizationList`.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::json!({
            "chainId": format!("{:#x}", self.0.inner().chain_id),
            "address": self.0.inner().address.to_string(),
            "nonce": format!("{:#x}", self.0.inner().nonce),
            "yParity": format!("{:#x}", self.0.y_parity()),
            "r": format!("{:#x}", self.0.r()),
            "s": format!("{:#x}", self.0.s()),
        })
    }
}
