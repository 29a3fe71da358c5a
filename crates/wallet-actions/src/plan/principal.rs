//! Brings the tokens that the wallet lacks, by the owner's authorization (EIP-3009).
//!
//! When the order has no authorization, the refusal contains the typed data to sign. When it has
//! one, the token itself verifies the signature: the plan calls it with the authorization before
//! anything is sent.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::SolValue;
use serde_json::{Value, json};

use super::{Held, Planner, step};
use crate::abi::{token, token_bytes};
use crate::intent::{Expected, Step};
use crate::refused::FundsRequired;
use crate::{Charge, Order, Principal, Refused, StepKind};

/// For how many seconds a requested authorization is valid.
const VALID_SECONDS: u64 = 3_600;

/// For how many more seconds an authorization must be valid, so that its transaction can reach a
/// block.
const MARGIN_SECONDS: u64 = 60;

/// An authorization (EIP-3009) that waits for the signature of a wallet's owner. It moves tokens
/// from the owner to the wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalRequest {
    /// The chain of the token.
    pub chain_id: u64,
    /// The token.
    pub token: Address,
    /// `name` of the token's domain.
    pub name: String,
    /// `version` of the token's domain.
    pub version: String,
    /// The owner, who signs.
    pub from: Address,
    /// The owner's wallet.
    pub to: Address,
    /// The amount in the token's smallest unit.
    pub value: U256,
    /// The authorization is valid in blocks whose time, in Unix seconds, is earlier than this.
    pub valid_before: u64,
    /// 32 random bytes.
    pub nonce: B256,
}

impl PrincipalRequest {
    /// Makes the typed data (EIP-712) that the owner signs, in the form of `eth_signTypedData_v4`.
    ///
    /// `types` names the members of the domain: a wallet that is not given them signs for the
    /// empty domain, and the token refuses the signature.
    #[must_use]
    pub fn typed_data(&self) -> Value {
        let members = |members: &[(&str, &str)]| -> Value {
            let members = members.iter();
            members
                .map(|(name, kind)| json!({ "name": name, "type": kind }))
                .collect()
        };
        json!({
            "domain": {
                "name": self.name,
                "version": self.version,
                "chainId": self.chain_id,
                "verifyingContract": self.token.to_string(),
            },
            "primaryType": "TransferWithAuthorization",
            "types": {
                "EIP712Domain": members(&[
                    ("name", "string"),
                    ("version", "string"),
                    ("chainId", "uint256"),
                    ("verifyingContract", "address"),
                ]),
                "TransferWithAuthorization": members(&[
                    ("from", "address"),
                    ("to", "address"),
                    ("value", "uint256"),
                    ("validAfter", "uint256"),
                    ("validBefore", "uint256"),
                    ("nonce", "bytes32"),
                ]),
            },
            "message": {
                "from": self.from.to_string(),
                "to": self.to.to_string(),
                "value": self.value.to_string(),
                "validAfter": "0",
                "validBefore": self.valid_before.to_string(),
                "nonce": self.nonce,
            },
        })
    }
}

/// The texts of a token's EIP-712 domain.
struct TokenDomain {
    name: String,
    version: String,
}

impl Planner<'_> {
    /// Plans the transaction that brings the tokens that the wallet lacks. `None` when it lacks
    /// none.
    pub(super) async fn bring(
        &self,
        order: &Order,
        chain_id: u64,
        token: Address,
        held: Held,
        needed: U256,
    ) -> Result<Option<Step>, Refused> {
        let missing = needed.saturating_sub(held.balance);
        if missing.is_zero() {
            return Ok(None);
        }
        let Some(principal) = &order.principal else {
            let required = self.require(chain_id, token, held, missing).await?;
            return Err(Refused::Funds(Box::new(required)));
        };
        self.judge_principal(principal, missing)?;
        if let Some(charge) = &order.charge {
            self.leave_charge(chain_id, token, principal, charge)
                .await?;
        }
        let mut pull = self.pull(chain_id, token, principal).await?;
        pull.expects = Some(Expected {
            token,
            receiver: self.wallet.address,
            at_least: principal.value,
        });
        Ok(Some(pull))
    }

    /// Makes the content of a refusal: the missing amount, and the authorization to sign.
    async fn require(
        &self,
        chain_id: u64,
        token: Address,
        held: Held,
        missing: U256,
    ) -> Result<FundsRequired, Refused> {
        let principal_auth = match self.domain(chain_id, token).await? {
            Some(domain) => Some(self.authorization(chain_id, token, domain, missing)?),
            None => None,
        };
        Ok(FundsRequired {
            chain_id,
            wallet: self.wallet.address,
            token,
            missing,
            decimals: held.decimals,
            principal_auth,
        })
    }

    /// Makes the typed data for the owner to sign, with a random nonce.
    fn authorization(
        &self,
        chain_id: u64,
        token: Address,
        domain: TokenDomain,
        missing: U256,
    ) -> Result<Value, Refused> {
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce)
            .map_err(|error| Refused::unavailable("entropy_unavailable", error))?;
        let request = PrincipalRequest {
            chain_id,
            token,
            name: domain.name,
            version: domain.version,
            from: self.wallet.owner.address(),
            to: self.wallet.address,
            value: missing,
            valid_before: self.now.saturating_add(VALID_SECONDS),
            nonce: B256::from(nonce),
        };
        Ok(request.typed_data())
    }

    /// Returns the EIP-712 domain of a token, from the name and version that the token states.
    /// `None` when the token accepts no authorizations, or when its domain separator differs.
    async fn domain(&self, chain_id: u64, token: Address) -> Result<Option<TokenDomain>, Refused> {
        let separator = self
            .read(chain_id, token, &token::DOMAIN_SEPARATORCall {})
            .await?;
        let name = self.read(chain_id, token, &token::nameCall {}).await?;
        let version = self.read(chain_id, token, &token::versionCall {}).await?;
        let state = token::authorizationStateCall {
            authorizer: self.wallet.owner.address(),
            nonce: B256::ZERO,
        };
        let takes_authorizations = self.read(chain_id, token, &state).await?.is_some();
        let (Some(separator), Some(name), true) = (separator, name, takes_authorizations) else {
            return Ok(None);
        };
        // A token that states no version uses version 1 or 2.
        let versions = match version {
            Some(version) => vec![version],
            None => vec!["1".to_owned(), "2".to_owned()],
        };
        let version = versions
            .into_iter()
            .find(|version| separator_of(&name, version, chain_id, token) == separator);
        Ok(version.map(|version| TokenDomain { name, version }))
    }

    /// Checks that the authorization moves enough from the owner to the owner's wallet, and is
    /// valid now. The token checks the signature.
    fn judge_principal(&self, principal: &Principal, missing: U256) -> Result<(), Refused> {
        let wrong = |path, expected: String, observed: String| {
            Err(Refused::invalid(
                path,
                format!("expected {expected}, observed {observed}"),
            ))
        };
        let (owner, wallet) = (self.wallet.owner.address(), self.wallet.address);
        if principal.from != owner {
            return wrong(
                "principal_auth.authorization.from",
                format!("the payer {owner}"),
                principal.from.to_string(),
            );
        }
        if principal.to != wallet {
            return wrong(
                "principal_auth.authorization.to",
                format!("the sub-wallet {wallet}"),
                principal.to.to_string(),
            );
        }
        if principal.value < missing {
            return wrong(
                "principal_auth.authorization.value",
                format!("at least {missing}"),
                principal.value.to_string(),
            );
        }
        let (now, least) = (self.now, self.now.saturating_add(MARGIN_SECONDS));
        if principal.valid_after >= U256::from(now) || principal.valid_before < U256::from(least) {
            return wrong(
                "principal_auth.authorization",
                format!("a validity window that contains {now} to {least}"),
                format!("{} to {}", principal.valid_after, principal.valid_before),
            );
        }
        Ok(())
    }

    /// Checks that the owner can pay for the call after the authorization has moved its tokens.
    /// Otherwise the action would be carried out and could not be charged.
    async fn leave_charge(
        &self,
        chain_id: u64,
        token: Address,
        principal: &Principal,
        charge: &Charge,
    ) -> Result<(), Refused> {
        if (charge.chain_id, charge.token) != (chain_id, token) {
            return Ok(());
        }
        let chain = self.shared.chain(chain_id)?;
        let block = chain.sealed(0).await?.block;
        let balance = chain.token_balance(token, principal.from, block).await?;
        if balance >= principal.value.saturating_add(charge.amount) {
            return Ok(());
        }
        Err(Refused::invalid(
            "principal_auth.authorization.value",
            format!(
                "expected that the payer keeps {} for the price of the call, observed a balance of {balance} and a principal of {}",
                charge.amount, principal.value
            ),
        ))
    }

    /// Makes the transaction that submits the authorization, in the form that the token accepts.
    async fn pull(
        &self,
        chain_id: u64,
        token: Address,
        principal: &Principal,
    ) -> Result<Step, Refused> {
        let state = token::authorizationStateCall {
            authorizer: principal.from,
            nonce: principal.nonce,
        };
        if self.read(chain_id, token, &state).await? == Some(true) {
            return Err(Refused::invalid(
                "principal_auth.authorization.nonce",
                "the token has accepted an authorization with this nonce before",
            ));
        }
        let chain = self.shared.chain(chain_id)?;
        let block = chain.sealed(0).await?.block;
        for form in forms(chain_id, token, principal) {
            let input: &Bytes = &form.input;
            let taken = chain
                .call_from(self.wallet.address, token, input, block)
                .await?;
            if taken.is_some() {
                return Ok(form);
            }
        }
        Err(Refused::invalid(
            "principal_auth",
            format!(
                "the token {token} does not accept the authorization: check its signature, window, nonce and amount"
            ),
        ))
    }
}

/// Makes a transaction in each form in which tokens accept an authorization: a key's signature in
/// three parts, or any signature as one byte string.
fn forms(chain_id: u64, token: Address, principal: &Principal) -> Vec<Step> {
    let &Principal {
        ref signature,
        from,
        to,
        value,
        valid_after,
        valid_before,
        nonce,
    } = principal;
    let mut forms = Vec::new();
    if let Ok(&[ref parts @ .., v]) = <&[u8; 65]>::try_from(signature.as_ref()) {
        let (r, s): (&[u8], &[u8]) = parts.split_at(32);
        let call = token::transferWithAuthorizationCall {
            from,
            to,
            value,
            validAfter: valid_after,
            validBefore: valid_before,
            nonce,
            v: if v < 27 { v.saturating_add(27) } else { v },
            r: B256::from_slice(r),
            s: B256::from_slice(s),
        };
        forms.push(step(StepKind::Principal, chain_id, token, &call));
    }
    let call = token_bytes::transferWithAuthorizationCall {
        from,
        to,
        value,
        validAfter: valid_after,
        validBefore: valid_before,
        nonce,
        signature: signature.clone(),
    };
    forms.push(step(StepKind::Principal, chain_id, token, &call));
    forms
}

/// Computes the EIP-712 domain separator of a token with this name and version.
fn separator_of(name: &str, version: &str, chain_id: u64, token: Address) -> B256 {
    const TYPE: &[u8] =
        b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
    let words = (
        keccak256(TYPE),
        keccak256(name.as_bytes()),
        keccak256(version.as_bytes()),
        U256::from(chain_id),
        token,
    );
    keccak256(words.abi_encode())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{address, b256};

    use super::*;

    #[test]
    fn the_computed_domain_separator_of_usdc_on_base_is_the_deployed_one() {
        let token = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
        let separator = separator_of("USD Coin", "2", 8453, token);
        assert_eq!(
            separator,
            b256!("02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f")
        );
    }

    /// A wallet that takes the document literally computes the token's own domain separator.
    #[test]
    fn the_typed_data_names_the_members_of_its_domain() {
        let request = PrincipalRequest {
            chain_id: 8453,
            token: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            name: "USD Coin".to_owned(),
            version: "2".to_owned(),
            from: Address::repeat_byte(1),
            to: Address::repeat_byte(2),
            value: U256::from(3),
            valid_before: 9,
            nonce: B256::repeat_byte(4),
        };
        let document = request.typed_data();
        let members = document["types"]["EIP712Domain"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let declared: Vec<String> = members
            .iter()
            .map(|member| format!("{} {}", text(&member["type"]), text(&member["name"])))
            .collect();
        assert_eq!(
            declared.join(","),
            "string name,string version,uint256 chainId,address verifyingContract"
        );
        for member in members {
            assert!(document["domain"].get(text(&member["name"])).is_some());
        }
        assert_eq!(document["domain"].as_object().unwrap().len(), members.len());
    }

    #[test]
    fn the_two_forms_have_the_selectors_of_tokens() {
        let principal = Principal {
            signature: vec![1; 65].into(),
            from: Address::repeat_byte(1),
            to: Address::repeat_byte(2),
            value: U256::from(3),
            valid_after: U256::ZERO,
            valid_before: U256::from(9),
            nonce: B256::repeat_byte(4),
        };
        let selectors = |principal: &Principal| -> Vec<_> {
            let forms = forms(196, Address::repeat_byte(5), principal).into_iter();
            forms
                .map(|form| form.input.slice(..4).to_string())
                .collect()
        };
        assert_eq!(selectors(&principal), ["0xe3ee160e", "0xcf092995"]);
        let wallet = Principal {
            signature: vec![1; 66].into(),
            ..principal
        };
        assert_eq!(selectors(&wallet), ["0xcf092995"]);
    }
}
