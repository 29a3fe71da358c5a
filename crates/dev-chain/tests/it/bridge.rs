//! Bridge plans against the token messenger.

use alloy_primitives::{Address, B256, Bytes, U256, b256, bytes, fixed_bytes, hex};
use alloy_sol_types::{SolCall, SolEvent, sol};
use dev_chain::{
    BurnMessengerSpec, DevChain, GAS_PAYER, SafeSpec,
    base::{self, TOKEN_MESSENGER, USDC, WETH},
    cctp::MESSAGE_TRANSMITTER,
};
use serde_json::json;

use crate::{
    plan::{HOLDER, Step, approve, balance, estimate, selector_of, stage, submit, three_steps},
    support::{get, read},
};

sol! {
    #[derive(Debug)]
    interface Messenger {
        event DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData);
        event MessageSent(bytes message);
        function depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold) external;
        function depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData) external;
        function remoteTokenMessengers(uint32 domain) external view returns (bytes32);
        function burnLimitsPerMessage(address token) external view returns (uint256);
        function localDomain() external view returns (uint32);
    }

    interface Safe {
        function getOwners() external view returns (address[]);
        function getThreshold() external view returns (uint256);
        function VERSION() external view returns (string);
    }
}

/// 1,234.567890 USDC, as in the calldata below.
const AMOUNT: u64 = 1_234_567_890;

/// A fast burn of account 1 towards Arbitrum, as encoders of other projects write it.
const FAST: Bytes = bytes!(
    "8e0250ee00000000000000000000000000000000000000000000000000000000499602d2000000000000000000000000000000000000000000000000000000000000000300000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8000000000000000000000000833589fcd6edb6e08f4c7c32d4f71b54bda029130000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002b1a000000000000000000000000000000000000000000000000000000000000003e8"
);

/// A standard burn of account 1 towards Ethereum with the frame of the forwarding service.
const FORWARDED: Bytes = bytes!(
    "779b432d00000000000000000000000000000000000000000000000000000000499602d2000000000000000000000000000000000000000000000000000000000000000000000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8000000000000000000000000833589fcd6edb6e08f4c7c32d4f71b54bda029130000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003d09000000000000000000000000000000000000000000000000000000000000007d000000000000000000000000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000000000000020636374702d666f72776172640000000000000000000000000000000000000000"
);

/// Burns in three steps as account 1 and returns what was logged: message and deposit.
fn burn(data: Bytes) -> (DevChain, Bytes, Messenger::DepositForBurn) {
    let chain = stage().build().unwrap();
    let to = TOKEN_MESSENGER;
    let plan = three_steps(USDC, to, AMOUNT, Step { to, data });
    let receipts = plan.map(|step| submit(&chain, GAS_PAYER, &step));

    let account = GAS_PAYER.address;
    let left = U256::from(base::USDC_FUNDS - AMOUNT);
    assert_eq!(balance(&chain, USDC, account), left);
    assert_eq!(chain.allowance(USDC, account, to).unwrap(), U256::ZERO);

    let logs = receipts[2].inner.logs();
    let by = |address| {
        let own: Vec<_> = logs.iter().filter(|log| log.address() == address).collect();
        let [log] = own[..] else { panic!("{own:?}") };
        log
    };
    let (sent, deposit) = (by(MESSAGE_TRANSMITTER), by(to));
    let message = Messenger::MessageSent::decode_log(&sent.inner).unwrap();
    let deposit = Messenger::DepositForBurn::decode_log(&deposit.inner).unwrap();
    (chain, message.data.message, deposit.data)
}

/// The words of a message by their offsets in the layout of CCTP V2, section "message format".
fn message(fields: &[(usize, &str)]) -> Vec<u8> {
    let mut whole = Vec::new();
    for (offset, field) in fields {
        assert_eq!(whole.len(), *offset);
        whole.extend(hex::decode(field).unwrap());
    }
    whole
}

const ZERO: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const MESSENGER: &str = "00000000000000000000000028b5a0e9c621a5badaa536219b3a228c8168cf5d";
const TOKEN: &str = "000000000000000000000000833589fcd6edb6e08f4c7c32d4f71b54bda02913";
const ACCOUNT: &str = "00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8";
const AMOUNT_WORD: &str = "00000000000000000000000000000000000000000000000000000000499602d2";

#[test]
fn the_interface_is_the_deployed_one() {
    let check = |observed, expected| assert_eq!(observed, expected);
    check(
        selector_of::<Messenger::depositForBurnCall>(),
        fixed_bytes!("8e0250ee"),
    );
    check(
        selector_of::<Messenger::depositForBurnWithHookCall>(),
        fixed_bytes!("779b432d"),
    );
    check(
        selector_of::<Messenger::remoteTokenMessengersCall>(),
        fixed_bytes!("82a5e665"),
    );
    check(
        selector_of::<Messenger::burnLimitsPerMessageCall>(),
        fixed_bytes!("a56ec632"),
    );
    check(
        selector_of::<Messenger::localDomainCall>(),
        fixed_bytes!("8d3638f4"),
    );
    check(
        selector_of::<Safe::getOwnersCall>(),
        fixed_bytes!("a0e67e2b"),
    );
    check(
        selector_of::<Safe::getThresholdCall>(),
        fixed_bytes!("e75235b8"),
    );
    check(selector_of::<Safe::VERSIONCall>(), fixed_bytes!("ffa1ad74"));
    assert_eq!(
        [
            Messenger::DepositForBurn::SIGNATURE_HASH,
            Messenger::MessageSent::SIGNATURE_HASH
        ],
        [
            b256!("0c8c1cbdc5190613ebd485511d4e2812cfa45eecb79d845893331fedad5130a5"),
            b256!("8c5261668696ce22758910d05bab8f186d6eb247ceac2af2e82c7dc17669b036"),
        ]
    );
}

#[test]
fn a_fast_burn_emits_the_exact_message() {
    let (chain, observed, deposit) = burn(FAST);
    let expected = message(&[
        (0, "00000001"),
        (4, "00000006"),
        (8, "00000003"),
        (12, ZERO),
        (44, MESSENGER),
        (76, MESSENGER),
        (108, ZERO),
        (140, "000003e8"),
        (144, "00000000"),
        (148, "00000001"),
        (148 + 4, TOKEN),
        (148 + 36, ACCOUNT),
        (148 + 68, AMOUNT_WORD),
        (148 + 100, ACCOUNT),
        (
            148 + 132,
            "000000000000000000000000000000000000000000000000000000000002b1a0",
        ),
        (148 + 164, ZERO),
        (148 + 196, ZERO),
    ]);
    assert_eq!(observed, expected);
    assert_eq!(observed.len(), 148 + 228);

    assert_eq!(deposit.burnToken, USDC);
    assert_eq!(deposit.depositor, GAS_PAYER.address);
    assert_eq!(deposit.amount, U256::from(AMOUNT));
    assert_eq!(deposit.mintRecipient, GAS_PAYER.address.into_word());
    assert_eq!(deposit.destinationDomain, 3);
    assert_eq!(
        deposit.destinationTokenMessenger,
        TOKEN_MESSENGER.into_word()
    );
    assert_eq!(deposit.destinationCaller, B256::ZERO);
    assert_eq!(deposit.maxFee, U256::from(176_544));
    assert_eq!(deposit.minFinalityThreshold, 1000);
    assert!(deposit.hookData.is_empty());
    let held = balance(&chain, USDC, TOKEN_MESSENGER);
    assert_eq!(held, U256::from(AMOUNT));
}

#[test]
fn a_burn_with_a_hook_carries_it_at_the_end() {
    let (_, observed, deposit) = burn(FORWARDED);
    let hook = "636374702d666f72776172640000000000000000000000000000000000000000";
    assert_eq!(deposit.hookData, hex::decode(hook).unwrap());
    assert_eq!(observed.len(), 148 + 228 + 32);
    let (header, body) = observed.split_at(148);
    assert_eq!(header[..12], hex!("000000010000000600000000"));
    assert_eq!(header[140..], hex!("000007d000000000"));
    assert_eq!(body[132..164], U256::from(250_000).to_be_bytes::<32>());
    assert_eq!(body[164..228], [0; 64]);
    assert_eq!(body[228..], hex::decode(hook).unwrap());
}

#[test]
fn a_refused_burn_names_the_reason() {
    let limit = 10_000_000_000_000_u64;
    let everything = U256::from(limit) + U256::ONE;
    let chain = stage()
        .holder(USDC, HOLDER.address, everything)
        .holder(WETH, HOLDER.address, U256::from(10))
        .call(
            HOLDER.address,
            USDC,
            approve(USDC, TOKEN_MESSENGER, u64::MAX).data,
        )
        .call(
            HOLDER.address,
            WETH,
            approve(WETH, TOKEN_MESSENGER, 10).data,
        )
        .build()
        .unwrap();
    let good = || Messenger::depositForBurnWithHookCall {
        amount: U256::from(limit),
        destinationDomain: 0,
        mintRecipient: HOLDER.address.into_word(),
        burnToken: USDC,
        destinationCaller: B256::ZERO,
        maxFee: U256::ZERO,
        minFinalityThreshold: 2000,
        hookData: vec![1].into(),
    };
    let outcome = |call: &dyn Fn() -> Bytes| {
        let step = Step {
            to: TOKEN_MESSENGER,
            data: call(),
        };
        estimate(&chain, HOLDER, &step)
            .map_err(|error| error["message"].as_str().unwrap().to_owned())
    };
    assert!(outcome(&|| good().abi_encode().into()).is_ok());
    type Burn = Messenger::depositForBurnWithHookCall;
    let check = |change: fn(&mut Burn), reason: &str| {
        let mut call = good();
        change(&mut call);
        let without = Messenger::depositForBurnCall {
            amount: call.amount,
            destinationDomain: call.destinationDomain,
            mintRecipient: call.mintRecipient,
            burnToken: call.burnToken,
            destinationCaller: call.destinationCaller,
            maxFee: call.maxFee,
            minFinalityThreshold: call.minFinalityThreshold,
        };
        let expected = Err(format!("execution reverted: {reason}"));
        assert_eq!(outcome(&|| call.abi_encode().into()), expected);
        assert_eq!(outcome(&|| without.abi_encode().into()), expected);
    };
    check(|burn| burn.amount = U256::ZERO, "Amount must be nonzero");
    check(
        |burn| burn.mintRecipient = B256::ZERO,
        "Mint recipient must be nonzero",
    );
    check(
        |burn| burn.maxFee = burn.amount,
        "Max fee must be less than amount",
    );
    // The destination is the chain's own domain, or an unregistered one.
    check(
        |burn| burn.destinationDomain = base::DOMAIN,
        "No TokenMessenger for domain",
    );
    check(
        |burn| burn.destinationDomain = 37,
        "No TokenMessenger for domain",
    );
    check(
        |burn| (burn.burnToken, burn.amount) = (WETH, U256::from(10)),
        "Burn token not supported",
    );
    check(
        |burn| burn.amount += U256::ONE,
        "Burn amount exceeds per tx limit",
    );
    check(
        |burn| (burn.burnToken, burn.amount) = (WETH, U256::from(11)),
        "ERC20: insufficient allowance",
    );
    let empty = || Messenger::depositForBurnWithHookCall {
        hookData: Bytes::new(),
        ..good()
    };
    assert_eq!(
        outcome(&|| empty().abi_encode().into()),
        Err("execution reverted: Hook data is empty".to_owned())
    );
}

#[test]
fn any_recipient_bytes_and_any_threshold_are_burned() {
    let call = Messenger::depositForBurnCall {
        amount: U256::from(AMOUNT),
        destinationDomain: 3,
        // The destination drops the upper twelve bytes: the result belongs to no one.
        mintRecipient: B256::repeat_byte(0xee),
        burnToken: USDC,
        destinationCaller: B256::repeat_byte(0xcc),
        maxFee: U256::ZERO,
        minFinalityThreshold: 0,
    };
    let (_, observed, deposit) = burn(call.abi_encode().into());
    assert_eq!(deposit.mintRecipient, B256::repeat_byte(0xee));
    assert_eq!(observed[108..140], [0xcc; 32]);
    assert_eq!(observed[140..148], [0; 8]);
}

#[test]
fn another_chain_has_its_own_domain_and_safe() {
    let (safe, token) = (Address::repeat_byte(0x5a), Address::repeat_byte(0x70));
    let owners = vec![HOLDER.address, GAS_PAYER.address];
    let chain = DevChain::builder()
        .chain_id(42161)
        .burn_messenger(BurnMessengerSpec {
            address: TOKEN_MESSENGER,
            local_domain: 3,
            remote_domains: vec![6],
            burn_limits: vec![(token, U256::from(5))],
        })
        .safe(SafeSpec {
            address: safe,
            owners: owners.clone(),
            threshold: 2,
            version: "1.4.1".to_owned(),
        })
        .build()
        .unwrap();
    assert_eq!(get::<String>(&chain, "eth_chainId", json!([])), "0xa4b1");
    let to = TOKEN_MESSENGER;
    assert_eq!(read(&chain, to, &Messenger::localDomainCall {}), 3);
    let remote = |domain| read(&chain, to, &Messenger::remoteTokenMessengersCall { domain });
    assert_eq!((remote(6), remote(3)), (to.into_word(), B256::ZERO));
    let limit = read(&chain, to, &Messenger::burnLimitsPerMessageCall { token });
    assert_eq!(limit, U256::from(5));
    assert_eq!(read(&chain, safe, &Safe::getOwnersCall {}), owners);
    assert_eq!(
        read(&chain, safe, &Safe::getThresholdCall {}),
        U256::from(2)
    );
    assert_eq!(read(&chain, safe, &Safe::VERSIONCall {}), "1.4.1");
}
