//! Signing, and requests to the chain.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use alloy_rpc_types_eth::TransactionReceipt;
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{Eip712Domain, SolCall, SolStruct, eip712_domain, sol};
use dev_chain::{BUYER, DevAccount, DevChain, DevChainBuilder, GAS_PAYER, PAYEE, Reply};
use serde::de::DeserializeOwned;
use serde_json::{Value, from_slice, from_value, json};

/// The moment of the payment vectors.
pub(crate) const NOW: u64 = 1_795_219_200;

sol! {
    #[derive(Debug)]
    struct TransferWithAuthorization {
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }

    struct CancelAuthorization {
        address authorizer;
        bytes32 nonce;
    }

    #[derive(Debug)]
    interface Token {
        event Transfer(address indexed from, address indexed to, uint256 value);
        event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
        event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
        event AuthorizationAlreadyUsed(address indexed authorizer, bytes32 indexed nonce);
        function name() external view returns (string);
        function version() external view returns (string);
        function decimals() external view returns (uint8);
        function balanceOf(address account) external view returns (uint256);
        function totalSupply() external view returns (uint256);
        function DOMAIN_SEPARATOR() external view returns (bytes32);
        function transfer(address to, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
        function approve(address spender, uint256 value) external returns (bool);
        function mint(address to, uint256 amount) external returns (bool);
        function initialize(string name, string symbol, string version, address minter) external;
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) external;
        function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) external;
        function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature) external;
    }

    interface TokenVrs {
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;
        function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;
    }
}

/// The three assets at the moment of the vectors.
pub(crate) fn builder() -> DevChainBuilder {
    DevChain::builder().chain_196_assets().clock(|| NOW)
}

pub(crate) fn chain() -> DevChain {
    builder().build().unwrap()
}

pub(crate) fn signer(account: DevAccount) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&account.key).unwrap()
}

/// The body of an answer.
pub(crate) fn ask_raw(chain: &DevChain, body: &str) -> Value {
    match chain.answer(body.as_bytes()) {
        Reply::Http { body, .. } => from_slice(&body).unwrap(),
        other => panic!("no answer: {other:?}"),
    }
}

/// The result of one call, or its error object.
pub(crate) fn ask(chain: &DevChain, method: &str, params: Value) -> Result<Value, Value> {
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let mut answer = ask_raw(chain, &request.to_string());
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_eq!(answer["id"], 7);
    match answer["error"].take() {
        Value::Null => Ok(answer["result"].take()),
        error => Err(error),
    }
}

/// A result of a known type.
pub(crate) fn get<T: DeserializeOwned>(chain: &DevChain, method: &str, params: Value) -> T {
    from_value(ask(chain, method, params).unwrap()).unwrap()
}

/// The text of an error.
pub(crate) fn refused(chain: &DevChain, method: &str, params: Value) -> String {
    ask(chain, method, params).unwrap_err()["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The output of `eth_call` on the newest block.
pub(crate) fn read<C: SolCall>(chain: &DevChain, to: Address, call: &C) -> C::Return {
    let data = Bytes::from(call.abi_encode());
    let output: Bytes = get(
        chain,
        "eth_call",
        json!([{ "to": to, "data": data }, "latest"]),
    );
    C::abi_decode_returns(&output).unwrap()
}

/// The reason with which `eth_call` reverts.
pub(crate) fn reverts(chain: &DevChain, to: Address, data: &Bytes) -> String {
    let error = ask(
        chain,
        "eth_call",
        json!([{ "to": to, "data": data }, "latest"]),
    )
    .unwrap_err();
    assert_eq!(error["code"], 3, "{error}");
    let text = error["message"].as_str().unwrap();
    text.strip_prefix("execution reverted: ")
        .unwrap()
        .to_owned()
}

/// A transaction in the form of most wallets.
pub(crate) fn unsigned(to: Address, data: Bytes, nonce: u64) -> TxEip1559 {
    TxEip1559 {
        chain_id: 196,
        nonce,
        gas_limit: 300_000,
        max_fee_per_gas: 100_000_000,
        max_priority_fee_per_gas: 1_000_000,
        to: TxKind::Call(to),
        input: data,
        ..TxEip1559::default()
    }
}

pub(crate) fn sign<T>(account: DevAccount, transaction: T) -> Bytes
where
    T: SignableTransaction<Signature>,
    TxEnvelope: From<alloy_consensus::Signed<T>>,
{
    let signature = signer(account)
        .sign_hash_sync(&transaction.signature_hash())
        .unwrap();
    TxEnvelope::from(transaction.into_signed(signature))
        .encoded_2718()
        .into()
}

/// Sends a call from an account, with its next nonce, and returns the receipt.
pub(crate) fn send(
    chain: &DevChain,
    account: DevAccount,
    to: Address,
    data: Bytes,
) -> TransactionReceipt {
    let nonce: alloy_primitives::U64 = get(
        chain,
        "eth_getTransactionCount",
        json!([account.address, "pending"]),
    );
    let raw = sign(account, unsigned(to, data, nonce.to()));
    let hash: B256 = get(chain, "eth_sendRawTransaction", json!([raw]));
    get(chain, "eth_getTransactionReceipt", json!([hash]))
}

/// Sends from the account that pays gas in the demo.
pub(crate) fn settle(chain: &DevChain, token: Address, data: Bytes) -> TransactionReceipt {
    send(chain, GAS_PAYER, token, data)
}

/// The payment of the vectors.
pub(crate) fn payment() -> TransferWithAuthorization {
    TransferWithAuthorization {
        from: BUYER.address,
        to: PAYEE.address,
        value: U256::from(2000),
        validAfter: U256::ZERO,
        validBefore: U256::from(NOW + 300),
        nonce: "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
            .parse()
            .unwrap(),
    }
}

pub(crate) fn domain(token: Address) -> Eip712Domain {
    let (name, version) = if token == dev_chain::USDT0 {
        ("USD\u{20ae}0", "1")
    } else if token == dev_chain::USDC {
        ("USD Coin", "2")
    } else {
        ("Global Dollar", "1")
    };
    eip712_domain! {
        name: name,
        version: version,
        chain_id: 196,
        verifying_contract: token,
    }
}

/// 65 bytes over the typed data.
pub(crate) fn sign_typed(account: DevAccount, token: Address, data: &impl SolStruct) -> Signature {
    signer(account)
        .sign_hash_sync(&data.eip712_signing_hash(&domain(token)))
        .unwrap()
}

/// Calldata of the `(bytes)` form.
pub(crate) fn with_bytes(p: &TransferWithAuthorization, signature: Bytes) -> Bytes {
    let call = Token::transferWithAuthorizationCall {
        from: p.from,
        to: p.to,
        value: p.value,
        validAfter: p.validAfter,
        validBefore: p.validBefore,
        nonce: p.nonce,
        signature,
    };
    call.abi_encode().into()
}

/// Calldata of the `(v,r,s)` form.
pub(crate) fn with_vrs(p: &TransferWithAuthorization, v: u8, r: U256, s: U256) -> Bytes {
    let call = TokenVrs::transferWithAuthorizationCall {
        from: p.from,
        to: p.to,
        value: p.value,
        validAfter: p.validAfter,
        validBefore: p.validBefore,
        nonce: p.nonce,
        v,
        r: r.into(),
        s: s.into(),
    };
    call.abi_encode().into()
}

/// A payment signed by the buyer, as calldata of the `(v,r,s)` form.
pub(crate) fn signed(token: Address, p: &TransferWithAuthorization) -> Bytes {
    let signature = sign_typed(BUYER, token, p);
    with_vrs(
        p,
        27 + u8::from(signature.v()),
        signature.r(),
        signature.s(),
    )
}
