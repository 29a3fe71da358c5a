//! Attacks 26, 37, 38 and 39, offline: delegations that differ from the grant's promise.

use alloy_primitives::{Address, B256, U256, address};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use delegation_fence::onchain::{
    ChainGrant, ChainTerms, Delegation, GrantFile, Level, SignedDelegation,
};
use delegation_fence::{
    AccountKind, Grant, Message as _, Policy, Rule, Signature, Signed, TypedData,
};
use serde_json::{Value, json};

use crate::attacks::{
    sample::BASE,
    stage::{
        DELEGATE, OWNER, delegate, domain, edited_policy, fence, fence_policy, grant, now, owner,
        sign, stranger,
    },
};

pub(crate) const SERVICE: Address = address!("9999999999999999999999999999999999999999");
pub(crate) const ENFORCER: Address = address!("fe0ce00000000000000000000000000000000001");
pub(crate) const LEVELS: [Level; 2] = [Level::Stock, Level::Enforcer(ENFORCER)];

type Edit = fn(&mut Delegation);

/// The inputs of the delegations, owned.
pub(crate) struct Case {
    pub(crate) grant: TypedData<Grant>,
    pub(crate) policy: Policy,
    pub(crate) redeemer: Address,
    pub(crate) level: Level,
    pub(crate) nonce: u64,
}

impl Case {
    pub(crate) fn new(level: Level) -> Self {
        let grant = Grant {
            account: OWNER,
            account_kind: AccountKind::Eoa7702,
            ..grant()
        };
        Self {
            grant: TypedData::new(domain(), grant).unwrap(),
            policy: fence_policy(),
            redeemer: SERVICE,
            level,
            nonce: 3,
        }
    }

    pub(crate) fn with_grant(level: Level, edit: impl FnOnce(&mut Grant)) -> Self {
        let case = Self::new(level);
        let mut changed = case.grant.message().clone();
        edit(&mut changed);
        Self {
            grant: TypedData::new(domain(), changed).unwrap(),
            ..case
        }
    }

    pub(crate) fn terms(&self) -> ChainTerms<'_> {
        ChainTerms {
            grant: &self.grant,
            policy: &self.policy,
            redeemer: self.redeemer,
            level: self.level,
            nonce: U256::from(self.nonce),
        }
    }

    pub(crate) fn signed(&self) -> Vec<SignedDelegation> {
        let delegations = self.terms().delegations().unwrap();
        delegations
            .into_iter()
            .map(|(_, delegation)| sign_with(delegation, BASE, &owner()))
            .collect()
    }

    pub(crate) fn accept(&self, given: &[SignedDelegation]) -> Result<ChainGrant, Rule> {
        self.terms().accept(given).map_err(|refusal| refusal.rule)
    }

    /// The rule that refuses the delegations when one of them is changed, and signed again.
    pub(crate) fn refused(&self, which: usize, edit: impl FnOnce(&mut Delegation)) -> Rule {
        let mut given = self.signed();
        let mut changed = given[which].delegation.clone();
        edit(&mut changed);
        given[which] = sign_with(changed, BASE, &owner());
        self.accept(&given).unwrap_err()
    }
}

pub(crate) fn sign_with(
    delegation: Delegation,
    chain: u64,
    key: &PrivateKeySigner,
) -> SignedDelegation {
    let signature = key.sign_hash_sync(&delegation.digest(chain)).unwrap();
    let signature = Signature::from_bytes(&signature.as_bytes()).unwrap();
    delegation.sign_with(signature)
}

#[test]
fn the_promised_delegations_are_accepted_in_any_order() {
    for level in LEVELS {
        let case = Case::new(level);
        let mut given = case.signed();
        let accepted = case.accept(&given).unwrap();
        given.reverse();
        assert_eq!(case.accept(&given).unwrap(), accepted);
        assert_eq!(accepted.redeemer(), SERVICE);
        // The holder's tool reads redeemer, level and number from the file.
        let read = ChainGrant::of_file(&case.grant, &case.policy, &given).unwrap();
        assert_eq!(read, accepted);
        // The clearing delegation is not among those that end the permission.
        assert_eq!(accepted.ending().len(), given.len() - 1);
    }
}

/// The salt covers the whole grant: one grant's delegations never belong to another, whatever
/// differs between them.
#[test]
fn the_delegations_of_another_grant_are_refused() {
    for level in LEVELS {
        let given = Case::new(level).signed();
        let others: [fn(&mut Grant); 5] = [
            |grant| grant.grant_id = B256::repeat_byte(0x23),
            |grant| grant.expires_at -= 1,
            |grant| grant.per_swap_cap -= U256::ONE,
            |grant| grant.delegate = OWNER,
            |grant| grant.account = DELEGATE,
        ];
        for edit in others {
            let case = Case::with_grant(level, edit);
            assert_eq!(case.accept(&given), Err(Rule::DelegationsMissing));
        }
    }
}

#[test]
fn every_change_has_its_name() {
    for level in LEVELS {
        let case = Case::new(level);
        for which in 0..case.signed().len() {
            let refused = |edit: Edit| case.refused(which, edit);
            let changes: [(Edit, Rule); 10] = [
                (
                    |d| d.delegator = DELEGATE,
                    Rule::DelegationDelegatorMismatch,
                ),
                (|d| d.delegate = DELEGATE, Rule::DelegationRedeemerMismatch),
                (
                    // The delegate is the address that means anybody.
                    |d| d.delegate = address!("0000000000000000000000000000000000000a11"),
                    Rule::DelegationRedeemerMismatch,
                ),
                (|d| d.salt += U256::ONE, Rule::DelegationsMissing),
                (|d| drop(d.caveats.remove(0)), Rule::DelegationCaveatMissing),
                (|d| drop(d.caveats.pop()), Rule::DelegationCaveatMissing),
                (
                    |d| d.caveats.push(d.caveats[0].clone()),
                    Rule::DelegationCaveatUnexpected,
                ),
                (
                    |d| {
                        let mut foreign = d.caveats[0].clone();
                        foreign.enforcer = Address::repeat_byte(0xee);
                        d.caveats.push(foreign);
                    },
                    Rule::DelegationCaveatUnexpected,
                ),
                (|d| d.caveats.swap(0, 1), Rule::DelegationCaveatUnexpected),
                (
                    |d| d.caveats[0].enforcer = Address::repeat_byte(0xee),
                    Rule::DelegationCaveatMissing,
                ),
            ];
            for (edit, rule) in changes {
                assert_eq!(refused(edit), rule, "{which}");
            }
        }
    }
}

/// Any byte of any term, looser or tighter.
#[test]
fn every_byte_of_the_terms_counts() {
    for level in LEVELS {
        let case = Case::new(level);
        let given = case.signed();
        for (which, signed) in given.iter().enumerate() {
            for (place, caveat) in signed.delegation.caveats.iter().enumerate() {
                for at in 0..caveat.terms.len() {
                    let rule = case.refused(which, |delegation| {
                        let mut terms = delegation.caveats[place].terms.to_vec();
                        terms[at] ^= 1;
                        delegation.caveats[place].terms = terms.into();
                    });
                    assert_eq!(rule, Rule::DelegationCaveatTerms);
                }
                for longer in [vec![0], vec![0xff; 20]] {
                    let rule = case.refused(which, |delegation| {
                        let terms = [&delegation.caveats[place].terms[..], &longer].concat();
                        delegation.caveats[place].terms = terms.into();
                    });
                    assert_eq!(rule, Rule::DelegationCaveatTerms);
                }
            }
        }
    }
}

#[test]
fn a_list_that_is_too_short_or_too_long_is_refused() {
    for level in LEVELS {
        let case = Case::new(level);
        let given = case.signed();
        for missing in 0..given.len() {
            let mut fewer = given.clone();
            fewer.remove(missing);
            assert_eq!(case.accept(&fewer), Err(Rule::DelegationsMissing));
        }
        assert_eq!(case.accept(&[]), Err(Rule::DelegationsMissing));
        let empty = ChainGrant::of_file(&case.grant, &case.policy, &[]);
        assert_eq!(empty.unwrap_err().rule, Rule::DelegationsMissing);
        let twice = [&given[..], &given[..1]].concat();
        assert_eq!(case.accept(&twice), Err(Rule::DelegationUnexpected));
        // The list has an additional, looser delegation.
        let mut loose = given[0].delegation.clone();
        loose.caveats.clear();
        loose.salt = U256::ZERO;
        let more = [&given[..], &[sign_with(loose, BASE, &owner())]].concat();
        assert_eq!(case.accept(&more), Err(Rule::DelegationUnexpected));
    }
}

/// Attack 39: the hash names no chain, the signature does.
#[test]
fn the_account_signs_for_its_chain() {
    for level in LEVELS {
        let case = Case::new(level);
        for (chain, key) in [
            (BASE, stranger()),
            (BASE, delegate()),
            (1, owner()),
            (0, owner()),
        ] {
            let mut given = case.signed();
            let last = given.len() - 1;
            given[last] = sign_with(given[last].delegation.clone(), chain, &key);
            assert_eq!(case.accept(&given), Err(Rule::DelegationNotByAccount));
        }
    }
}

/// Another level, redeemer or number than the service's.
#[test]
fn the_services_own_terms_count() {
    let stock = Case::new(Level::Stock).signed();
    let fenced = Case::new(Level::Enforcer(ENFORCER)).signed();
    let case = Case::new(Level::Enforcer(ENFORCER));
    assert_eq!(case.accept(&stock), Err(Rule::DelegationsMissing));
    let case = Case::new(Level::Stock);
    assert_eq!(case.accept(&fenced), Err(Rule::DelegationsMissing));
    let case = Case::new(Level::Enforcer(Address::repeat_byte(0xee)));
    assert_eq!(case.accept(&fenced), Err(Rule::DelegationCaveatMissing));
    let case = Case {
        nonce: 4,
        ..Case::new(Level::Stock)
    };
    assert_eq!(case.accept(&stock), Err(Rule::DelegationCaveatTerms));
    let case = Case {
        redeemer: Address::repeat_byte(0x98),
        ..Case::new(Level::Stock)
    };
    assert_eq!(case.accept(&stock), Err(Rule::DelegationRedeemerMismatch));
}

#[test]
fn delegations_need_a_grant_of_their_kind_and_two_keys() {
    let refused = |case: &Case| case.terms().delegations().unwrap_err().rule;
    for kind in [AccountKind::SubWallet, AccountKind::Eoa, AccountKind::Safe] {
        let case = Case::with_grant(Level::Stock, |grant| grant.account_kind = kind);
        assert_eq!(refused(&case), Rule::AccountKindUnsupported);
    }
    let any = address!("0000000000000000000000000000000000000a11");
    for redeemer in [Address::ZERO, any, OWNER] {
        let case = Case {
            redeemer,
            ..Case::new(Level::Stock)
        };
        assert_eq!(refused(&case), Rule::DelegationRedeemerInvalid);
    }
    let case = Case {
        redeemer: DELEGATE,
        ..Case::new(Level::Stock)
    };
    assert_eq!(refused(&case), Rule::GrantDelegateIsService);
    let case = Case {
        policy: edited_policy(|document| document["version"] = 3.into()).unwrap(),
        ..Case::new(Level::Stock)
    };
    assert_eq!(refused(&case), Rule::GrantPolicyDigestMismatch);
    // The service names all of its keys.
    let case = Case::new(Level::Stock);
    let signed = sign(case.grant.message().clone(), &owner());
    let fence = fence().with_service_keys(vec![SERVICE, DELEGATE]);
    let refusal = fence.receive(signed, OWNER, now()).unwrap_err();
    assert_eq!(refusal.rule, Rule::GrantDelegateIsService);
}

#[test]
fn a_malformed_delegation_is_refused() {
    let given = Case::new(Level::Stock).signed();
    let good = given[0].to_value();
    assert_eq!(
        SignedDelegation::parse(&good.to_string()).unwrap(),
        given[0]
    );
    let rule = |edit: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        edit(&mut value);
        SignedDelegation::parse(&value.to_string())
            .unwrap_err()
            .rule
    };
    let malformed = Rule::DelegationMalformed;
    // Passed on (attack 37): the authority is another delegation.
    assert_eq!(
        rule(&|v| v["authority"] = json!(B256::repeat_byte(1))),
        malformed
    );
    assert_eq!(
        rule(&|v| v["caveats"][0]["args"] = json!("0x00")),
        malformed
    );
    assert_eq!(rule(&|v| v["more"] = json!(1)), malformed);
    assert_eq!(rule(&|v| v["salt"] = json!("0x1")), malformed);
    assert_eq!(
        rule(&|v| v["caveats"][0]["terms"] = json!("0x0")),
        malformed
    );
    assert_eq!(rule(&|v| *v = json!([1])), malformed);
    assert_eq!(
        rule(&|v| v["signature"] = json!("0x")),
        Rule::SignatureLength
    );
    let twice = good.to_string().replacen('{', "{\"salt\":1,", 1);
    assert_eq!(SignedDelegation::parse(&twice).unwrap_err().rule, malformed);
    // The file of a grant holds the delegations beside it.
    let case = Case::new(Level::Stock);
    let signed = sign(case.grant.message().clone(), &owner());
    let file = GrantFile {
        signed,
        delegations: given,
    };
    let text = file.to_json();
    assert_eq!(GrantFile::parse(&text).unwrap(), file);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    for delegations in [
        json!(null),
        json!({}),
        json!(vec![good.clone(); 9]),
        json!([1]),
    ] {
        value["delegations"] = delegations;
        assert_eq!(
            GrantFile::parse(&value.to_string()).unwrap_err().rule,
            malformed
        );
    }
    // No other message has delegations.
    assert!(Signed::<Grant>::parse(&text).is_err());
    assert_eq!(Grant::PRIMARY_TYPE, "FenceGrant");
}
