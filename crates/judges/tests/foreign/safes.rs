//! Tests of bridge plans for a Safe. The code reads the published contracts of Safe 1.3.0, 1.4.1
//! and 1.5.0 on two anvils. The contracts come from the npm packages of their authors, and the test
//! sets the Safe's modules, guards and handlers.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::Rail;
use data_sources::rpc::{RpcConfig, RpcReader};
use data_sources::{SystemClock, transport::Transport};
use judges::{Anvil, Toolchain, TransactionReceipt};
use plan_builder::ports::NoSimulator;
use plan_builder::{Refusal, Request, bridge, verify};
use serde_json::{Value, json};

use crate::base_chain;
use crate::rails::bridge::BridgeCase;
use crate::rails::{moment, now, policy};

sol! {
    function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver) external;
    function enableModule(address module) external;
    function setGuard(address guard) external;
    function setModuleGuard(address guard) external;
    function setFallbackHandler(address handler) external;
}

const CHECK: &str = "bridge_recipient_controlled_on_destination";
/// The addresses of a kit's singleton: a different one on each chain.
const SINGLETONS: [Address; 2] = [
    address!("5a0000000000000000000000000000000000000a"),
    address!("5a0000000000000000000000000000000000000b"),
];
/// A contract that answers 1 to every call. A Safe accepts it as a guard.
const GUARD: Address = address!("6a00000000000000000000000000000000000001");
const MODULE: Address = address!("6b00000000000000000000000000000000000001");
const HANDLER: Address = address!("6c00000000000000000000000000000000000001");

/// The published contracts of one version of Safe.
struct Kit {
    version: &'static str,
    /// The singleton for Ethereum, and the one for second layers.
    singletons: [Bytes; 2],
    proxy: Bytes,
}

impl Kit {
    fn all(toolchain: &Toolchain) -> [Self; 3] {
        let read = |version, package: &str, prefix: &str| {
            let code = |path: String| {
                let artifact = toolchain
                    .js_package(package)
                    .join("build/artifacts/contracts");
                let text = std::fs::read_to_string(artifact.join(&path)).expect(&path);
                let artifact: Value = serde_json::from_str(&text).unwrap();
                artifact["deployedBytecode"]
                    .as_str()
                    .unwrap()
                    .parse()
                    .unwrap()
            };
            Self {
                version,
                singletons: ["", "L2"].map(|layer| {
                    let name = format!("{prefix}Safe{layer}");
                    code(format!("{name}.sol/{name}.json"))
                }),
                proxy: code(format!(
                    "proxies/{prefix}SafeProxy.sol/{prefix}SafeProxy.json"
                )),
            }
        };
        [
            read("1.3.0", "@gnosis.pm/safe-contracts", "Gnosis"),
            read("1.4.1", "@safe-global/safe-contracts", ""),
            read("1.5.0", "@safe-global/safe-smart-account", ""),
        ]
    }
}

/// A contract that can act for a Safe, or restrict it, besides its owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    Module,
    Guard,
    ModuleGuard,
    Handler,
}

struct Stage {
    chains: [Anvil; 2],
    reader: RpcReader,
    next: u8,
}

impl Stage {
    async fn open(toolchain: &Toolchain) -> Self {
        let chains = [
            base_chain::start(toolchain).await,
            Anvil::start_on(toolchain, 42161).await.unwrap(),
        ];
        let url = |chain: &Anvil| vec![chain.rpc().url().to_owned().into()];
        let config = RpcConfig {
            chains: BTreeMap::from([(8453, url(&chains[0])), (42161, url(&chains[1]))]),
            ..RpcConfig::default()
        };
        let transport = Transport::new().unwrap();
        let reader = RpcReader::new(&transport, config, Arc::new(SystemClock)).unwrap();
        for chain in &chains {
            // PUSH1 1, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN.
            let yes = Bytes::from(hex!("600160005260206000f3"));
            chain.set_code(GUARD, &yes).await.unwrap();
        }
        Self {
            chains,
            reader,
            next: 0,
        }
    }

    /// A new address, at which no Safe is.
    fn address(&mut self) -> Address {
        self.next += 1;
        let mut address = address!("5afe000000000000000000000000000000000000");
        address.0[19] = self.next;
        address
    }

    /// Puts a Safe with these owners on a chain. Its singleton has this code.
    async fn place(
        &self,
        at: usize,
        safe: Address,
        proxy: &Bytes,
        singleton: &Bytes,
        owners: &[u8],
    ) {
        let chain = &self.chains[at];
        chain.set_code(SINGLETONS[at], singleton).await.unwrap();
        chain.set_code(safe, proxy).await.unwrap();
        let slot = json!([safe, B256::ZERO, SINGLETONS[at].into_word()]);
        let _: Value = chain.rpc().call("anvil_setStorageAt", slot).await.unwrap();
        let setup = setupCall {
            owners: owners.iter().map(|&b| Address::repeat_byte(b)).collect(),
            threshold: U256::from(2),
            to: Address::ZERO,
            data: Bytes::new(),
            fallbackHandler: Address::ZERO,
            paymentToken: Address::ZERO,
            payment: U256::ZERO,
            paymentReceiver: Address::ZERO,
        };
        chain.send(base_chain::TRADER, safe, &setup).await.unwrap();
    }

    /// Adds an extension to a Safe. The Safe calls itself for that, as its owners would make it do.
    async fn extend(&self, at: usize, safe: Address, extension: Extension) {
        let data = match extension {
            Extension::Module => enableModuleCall { module: MODULE }.abi_encode(),
            Extension::Guard => setGuardCall { guard: GUARD }.abi_encode(),
            Extension::ModuleGuard => setModuleGuardCall { guard: GUARD }.abi_encode(),
            Extension::Handler => setFallbackHandlerCall { handler: HANDLER }.abi_encode(),
        };
        let rpc = self.chains[at].rpc();
        let wei = U256::from(10).pow(U256::from(20));
        let _: Value = rpc
            .call("anvil_setBalance", json!([safe, wei]))
            .await
            .unwrap();
        let _: Value = rpc
            .call("anvil_impersonateAccount", json!([safe]))
            .await
            .unwrap();
        let call =
            json!([{"from": safe, "to": safe, "data": Bytes::from(data), "gas": "0x4c4b40"}]);
        let receipt: TransactionReceipt = rpc.call("eth_sendTransactionSync", call).await.unwrap();
        assert_eq!(receipt.status.to::<u64>(), 1, "{extension:?}");
    }

    /// The plan's observation about who controls the address, or the refusal.
    async fn plan(&self, safe: Address) -> Result<String, Refusal> {
        let case = BridgeCase {
            account: safe,
            from: 2,
            to: 3,
            amount: 25_000_000,
            fast: false,
            forward: false,
            names_address: false,
            fast_bps: 100,
            forward_fee: 0,
        };
        let arguments = json!({
            "accountProfile": {"kind": "safe", "address": safe, "chainId": 8453},
            "fromChainId": 8453, "toChainId": 42161, "token": "USDC", "amount": "25000000",
        });
        let request = Request::parse(Rail::Bridge, &arguments.to_string()).unwrap();
        let Request::Bridge(bridge) = &request else {
            panic!("a bridge")
        };
        let (policy, moment) = (policy(), moment([7; 32]));
        let sealed =
            bridge::build(bridge, &case, &self.reader, &NoSimulator, &policy, &moment).await?;
        let verified = verify(&request, sealed.json(), now(), &policy)?;
        let control = verified
            .plan_report()
            .assertions()
            .iter()
            .find(|a| a.name == CHECK);
        Ok(control.unwrap().observed.as_str().to_owned())
    }

    async fn refused(&self, safe: Address, part: &str) {
        let refusal = self.plan(safe).await.unwrap_err();
        assert_eq!(refusal.check, CHECK, "{refusal:?}");
        assert!(
            refusal.message.contains(part),
            "{part}: {}",
            refusal.message
        );
    }
}

#[tokio::test]
async fn the_published_safes_are_read_and_compared() {
    let toolchain = Toolchain::from_env().unwrap();
    let mut stage = Stage::open(&toolchain).await;
    for kit in Kit::all(&toolchain) {
        let [plain, second_layer] = &kit.singletons;
        // The Safe is the same on both chains, with the plain singleton here and the one for second
        // layers there.
        let safe = stage.address();
        stage.place(0, safe, &kit.proxy, plain, &[1, 2, 3]).await;
        stage
            .place(1, safe, &kit.proxy, second_layer, &[3, 1, 2])
            .await;
        let observed = stage.plan(safe).await.unwrap();
        let version = kit.version;
        let expected = format!(
            "safe {version} (reviewed) with threshold 2 of 3 owners on both chains, 0 modules"
        );
        assert_eq!(observed, expected);

        // An extension that can act besides the owners is refused when only the destination has it.
        // It is accepted on both chains, and on the source alone.
        let extensions = [
            (Extension::Module, "other modules"),
            (Extension::Guard, "another guard"),
            (Extension::Handler, "another fallback handler"),
            (Extension::ModuleGuard, "another module guard"),
        ];
        let known = if version == "1.5.0" { 4 } else { 3 };
        for (extension, part) in &extensions[..known] {
            let safe = stage.address();
            for at in 0..2 {
                stage.place(at, safe, &kit.proxy, plain, &[1, 2, 3]).await;
            }
            stage.extend(1, safe, *extension).await;
            stage.refused(safe, part).await;
            stage.extend(0, safe, *extension).await;
            stage.plan(safe).await.unwrap();

            let safe = stage.address();
            for at in 0..2 {
                stage.place(at, safe, &kit.proxy, plain, &[1, 2, 3]).await;
            }
            stage.extend(0, safe, *extension).await;
            stage.plan(safe).await.unwrap();
        }

        // On the destination, the Safe at this address belongs to other owners.
        let safe = stage.address();
        stage.place(0, safe, &kit.proxy, plain, &[1, 2, 3]).await;
        stage.place(1, safe, &kit.proxy, plain, &[1, 2, 9]).await;
        stage.refused(safe, "other owners").await;

        // A singleton with one more byte is another contract, whatever it answers.
        let safe = stage.address();
        let other = Bytes::from([&plain[..], &[0]].concat());
        stage.place(0, safe, &kit.proxy, plain, &[1, 2, 3]).await;
        stage.place(1, safe, &kit.proxy, &other, &[1, 2, 3]).await;
        stage.refused(safe, "runs other code").await;
    }
}

/// Every singleton here is reviewed, so only the version tells the two Safes apart.
#[tokio::test]
async fn two_versions_are_not_one_safe() {
    let toolchain = Toolchain::from_env().unwrap();
    let mut stage = Stage::open(&toolchain).await;
    let [old, new, _] = Kit::all(&toolchain);
    let safe = stage.address();
    stage
        .place(0, safe, &old.proxy, &old.singletons[0], &[1, 2, 3])
        .await;
    stage
        .place(1, safe, &old.proxy, &new.singletons[0], &[1, 2, 3])
        .await;
    stage.refused(safe, "another version").await;
}
