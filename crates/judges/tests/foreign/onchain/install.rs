//! Puts the framework, the project's enforcer and the code of accounts on a chain.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, address, hex, keccak256};
use alloy_sol_types::SolValue as _;
use delegation_fence::Signature;
use delegation_fence::onchain::{Authorization, IMPLEMENTATION, MANAGER};
use dev_chain::DevChain;
use dev_chain::base::CHAIN_ID;
use judges::{Account, Anvil, JudgeError, Toolchain, judge};
use keystore::Key;
use serde_json::{Value, json};

/// The address of the project's own enforcer in the tests.
pub(crate) const ENFORCER: Address = address!("fe0ce00000000000000000000000000000000001");

/// The attacker's venue: a contract that makes a call of its own whenever it is called.
pub(crate) const INTERPOSED: Address = address!("1e00000000000000000000000000000000000001");

/// A contract of the framework: its name, its address on Base, and the arguments of its creation.
type Published = (&'static str, Address, Vec<u8>);

/// The framework's contracts at the addresses on Base where its authors published them.
fn contracts() -> [Published; 11] {
    use delegation_fence::onchain as at;
    let entry_point = address!("0000000071727De22E5E9d8BAf0edAc6f37da032");
    [
        (
            "DelegationManager",
            MANAGER,
            Account::MINTER.address.abi_encode(),
        ),
        (
            "EIP7702StatelessDeleGator",
            IMPLEMENTATION,
            (MANAGER, entry_point).abi_encode(),
        ),
        ("TimestampEnforcer", at::TIMESTAMP, Vec::new()),
        ("RedeemerEnforcer", at::REDEEMER, Vec::new()),
        ("NonceEnforcer", at::NONCE, Vec::new()),
        ("ValueLteEnforcer", at::VALUE_LTE, Vec::new()),
        ("AllowedTargetsEnforcer", at::ALLOWED_TARGETS, Vec::new()),
        ("AllowedMethodsEnforcer", at::ALLOWED_METHODS, Vec::new()),
        ("AllowedCalldataEnforcer", at::ALLOWED_CALLDATA, Vec::new()),
        (
            "ApprovalRevocationEnforcer",
            at::APPROVAL_REVOCATION,
            Vec::new(),
        ),
        (
            "ERC20BalanceChangeEnforcer",
            address!("cdF6aB796408598Cea671d79506d7D48E97a5437"),
            Vec::new(),
        ),
    ]
}

/// Deploys the framework's contracts. Their code comes from the authors' package.
pub(crate) async fn install(toolchain: &Toolchain, chain: &Anvil) {
    let contracts = contracts();
    let names: Vec<_> = contracts.iter().map(|(name, ..)| *name).collect();
    let code: BTreeMap<String, Bytes> = judge(toolchain.node("framework.mjs"), &names)
        .await
        .unwrap();
    for (name, address, arguments) in contracts {
        let creation: Bytes = [code[name].as_ref(), &arguments].concat().into();
        place(chain, address, &creation).await;
    }
    for (address, name) in [(ENFORCER, "FenceEnforcer"), (INTERPOSED, "StoredCall")] {
        let code = runtime_code(name);
        chain.set_code(address, &code).await.unwrap();
    }
}

/// An embedded chain that has what [`install`] and [`point`] have put on this one: the framework,
/// the enforcer, and the code of an account.
pub(crate) async fn embedded(chain: &Anvil, account: Account) -> DevChain {
    let framework = contracts().map(|(_, address, _)| address);
    let mut copy = DevChain::builder().base_stage();
    for contract in framework.into_iter().chain([ENFORCER, account.address]) {
        let at = json!([contract, "latest"]);
        let code: Bytes = chain.rpc().call("eth_getCode", at).await.unwrap();
        copy = copy.code(contract, code);
    }
    copy.build().unwrap()
}

pub(crate) fn sign(account: Account, digest: B256) -> Signature {
    let key = Key::from_text(account.private_key).unwrap();
    Signature::from_bytes(&key.sign(digest).unwrap()).unwrap()
}

/// Reads the code when the test runs, so that a test of another artifact needs no build.
pub(crate) fn runtime_code(contract: &str) -> Bytes {
    let path = judges::contracts().join(format!("artifacts/{contract}.json"));
    let artifact = std::fs::read_to_string(path).unwrap();
    let artifact: Value = serde_json::from_str(&artifact).unwrap();
    artifact["deployedBytecode"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

async fn place(chain: &Anvil, address: Address, creation: &Bytes) {
    let request = json!([{"from": Account::MINTER.address, "data": creation, "gas": "0x989680"}]);
    let receipt: Value = chain
        .rpc()
        .call("eth_sendTransactionSync", request)
        .await
        .unwrap();
    assert_eq!(receipt["status"], "0x1");
    let code: Bytes = chain
        .rpc()
        .call("eth_getCode", json!([receipt["contractAddress"], "latest"]))
        .await
        .unwrap();
    chain.set_code(address, &code).await.unwrap();
}

/// Gives an account the framework's code. The account signs an authorization, and another account
/// sends it.
pub(crate) async fn point(chain: &Anvil, account: Account, nonce: u64) {
    let count: String = chain
        .rpc()
        .call(
            "eth_getTransactionCount",
            json!([account.address, "latest"]),
        )
        .await
        .unwrap();
    let count = u64::from_str_radix(count.trim_start_matches("0x"), 16).unwrap();
    let authorization = Authorization::new(CHAIN_ID, IMPLEMENTATION, count + nonce).unwrap();
    let signature = sign(account, authorization.digest());
    let signed = authorization.sign_with(&signature);
    let request = json!([{
        "from": Account::MINTER.address, "to": account.address, "gas": "0x30d40", "type": "0x4",
        "authorizationList": [signed.to_value()],
    }]);
    let _: Value = chain
        .rpc()
        .call("eth_sendTransactionSync", request)
        .await
        .unwrap();
    let code: Bytes = chain
        .rpc()
        .call("eth_getCode", json!([account.address, "latest"]))
        .await
        .unwrap();
    delegation_fence::onchain::judge_code(&code).unwrap();
}

/// Why a call reverted: the text of `Error(string)`, or the name of the framework's error.
pub(crate) fn reason(error: JudgeError) -> String {
    let JudgeError::Rpc { data, message, .. } = error else {
        panic!("{error}")
    };
    let Some(data) = data.as_ref().and_then(Value::as_str) else {
        return message;
    };
    let bytes = hex::decode(data).unwrap();
    if let Some(text) = bytes.strip_prefix(&hex!("08c379a0")) {
        return String::abi_decode(text).unwrap();
    }
    let names = [
        "InvalidDelegate()",
        "InvalidDelegator()",
        "InvalidAuthority()",
        "InvalidEOASignature()",
        "InvalidERC1271Signature()",
        "CannotUseADisabledDelegation()",
        "AlreadyDisabled()",
        "EnforcedPause()",
        "NotEntryPointOrSelf()",
        "NotDelegationManager()",
        "BatchDataLengthMismatch()",
    ];
    let known = names
        .into_iter()
        .find(|name| bytes.starts_with(&keccak256(name)[..4]));
    known.map_or_else(|| hex::encode_prefixed(bytes), str::to_owned)
}
