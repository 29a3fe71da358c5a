//! An anvil with every contract that swap and bridge plans call on Base, each at its address there.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::Step;
use dev_chain::Contract;
use dev_chain::base::{
    CHAIN_ID, DOMAIN, EXCHANGE, FORWARD_FEES, FORWARDER, ROUTER, SNWAP, TOKEN_MESSENGER, USDC,
    USDC_FUNDS, WEI_PER_USDC_UNIT, WETH,
};
use judges::{Account, Anvil, JudgeError, Rpc, TestToken, Toolchain};
use plan_builder::ports::{PortError, PortErrorReason, SimulatedCall, SimulatedLog, Simulator};
use serde::Deserialize;
use serde_json::{Value, json};

sol! {
    interface PlainToken {
        function initialize(string name, string symbol, uint8 decimals, address minter) external;
    }

    interface Owned {
        function initialize(address owner) external;
    }

    interface Router {
        function setAllowed(address target, bytes4 selector, bool isAllowed) external;
    }

    interface Exchange {
        function setRate(address tokenIn, address tokenOut, uint256 numerator, uint256 denominator) external;
    }

    interface Messenger {
        function initialize(address owner, uint32 domain) external;
        function setRemoteTokenMessenger(uint32 domain, bytes32 tokenMessenger) external;
        function setMaxBurnAmountPerMessage(address token, uint256 limit) external;
    }
}

/// The account that trades. anvil unlocks it.
pub(crate) const TRADER: Account = Account::BUYER;

const OPERATOR: Account = Account::MINTER;

/// Starts the chain and gives [`TRADER`] USDC.
pub(crate) async fn start(toolchain: &Toolchain) -> Anvil {
    let chain = Anvil::start_on(toolchain, CHAIN_ID).await.unwrap();
    for (address, contract) in [
        (USDC, Contract::Eip3009Token),
        (WETH, Contract::PlainToken),
        (ROUTER, Contract::AggregatorRouter),
        (FORWARDER, Contract::FeeForwarder),
        (EXCHANGE, Contract::FixedRateExchange),
        (TOKEN_MESSENGER, Contract::BurnMessenger),
    ] {
        let code = contract.runtime_code().unwrap();
        chain.set_code(address, &code).await.unwrap();
    }
    let owner = OPERATOR.address;
    let usdc = TestToken::initializeCall {
        name: "USD Coin".to_owned(),
        symbol: "USDC".to_owned(),
        version: "2".to_owned(),
        minter: owner,
    };
    operate(&chain, USDC, &usdc).await;
    let weth = PlainToken::initializeCall {
        name: "Wrapped Ether".to_owned(),
        symbol: "WETH".to_owned(),
        decimals: 18,
        minter: owner,
    };
    operate(&chain, WETH, &weth).await;
    for contract in [ROUTER, EXCHANGE] {
        operate(&chain, contract, &Owned::initializeCall { owner }).await;
    }
    for (target, selector) in [(FORWARDER, FORWARD_FEES), (EXCHANGE, SNWAP)] {
        let allow = Router::setAllowedCall {
            target,
            selector,
            isAllowed: true,
        };
        operate(&chain, ROUTER, &allow).await;
    }
    let rate = Exchange::setRateCall {
        tokenIn: USDC,
        tokenOut: WETH,
        numerator: U256::from(WEI_PER_USDC_UNIT),
        denominator: U256::ONE,
    };
    operate(&chain, EXCHANGE, &rate).await;
    let domain = DOMAIN;
    operate(
        &chain,
        TOKEN_MESSENGER,
        &Messenger::initializeCall { owner, domain },
    )
    .await;
    for domain in [0, 1, 3, 7] {
        let remote = Messenger::setRemoteTokenMessengerCall {
            domain,
            tokenMessenger: TOKEN_MESSENGER.into_word(),
        };
        operate(&chain, TOKEN_MESSENGER, &remote).await;
    }
    let limit = Messenger::setMaxBurnAmountPerMessageCall {
        token: USDC,
        limit: U256::from(10_000_000_000_000u64),
    };
    operate(&chain, TOKEN_MESSENGER, &limit).await;
    let wei = U256::from(10).pow(U256::from(21));
    for (token, to, amount) in [
        (USDC, TRADER.address, U256::from(USDC_FUNDS)),
        (USDC, EXCHANGE, U256::from(1_000_000_000_000u64)),
        (WETH, EXCHANGE, wei),
    ] {
        operate(&chain, token, &TestToken::mintCall { to, amount }).await;
    }
    chain
}

async fn operate<C: SolCall>(chain: &Anvil, contract: Address, call: &C) {
    chain.send(OPERATOR, contract, call).await.unwrap();
}

/// An account's balance of a token.
pub(crate) async fn balance(rpc: &Rpc, token: Address, account: Address) -> U256 {
    rpc.view(token, &TestToken::balanceOfCall { account })
        .await
        .unwrap()
}

/// The port for simulations while plans are built, over a node's `eth_simulateV1`.
#[derive(Debug)]
pub(crate) struct Simulation<'a>(pub(crate) &'a Rpc);

#[derive(Debug, Deserialize)]
struct SimulatedBlock {
    calls: Vec<CallResult>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult {
    status: U64,
    return_data: Bytes,
    gas_used: U64,
    logs: Vec<LogResult>,
}

#[derive(Debug, Deserialize)]
struct LogResult {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
}

impl Simulator for Simulation<'_> {
    async fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        assert_eq!(chain_id, CHAIN_ID);
        let calls: Vec<Value> = calls
            .iter()
            .map(|step| json!({"from": account, "to": step.to, "value": step.value, "data": step.data}))
            .collect();
        let payload = json!({"blockStateCalls": [{"calls": calls}], "validation": false});
        let blocks: Vec<SimulatedBlock> = self
            .0
            .call("eth_simulateV1", json!([payload, "latest"]))
            .await
            .map_err(|error: JudgeError| PortError {
                source_name: "rpc".into(),
                reason: PortErrorReason::Unavailable {
                    detail: error.to_string(),
                },
            })?;
        let calls = blocks.into_iter().flat_map(|block| block.calls);
        Ok(Some(calls.map(CallResult::outcome).collect()))
    }
}

impl CallResult {
    fn outcome(self) -> SimulatedCall {
        SimulatedCall {
            success: self.status == U64::ONE,
            return_data: self.return_data,
            gas_used: self.gas_used.to(),
            logs: self
                .logs
                .into_iter()
                .map(|log| SimulatedLog {
                    address: log.address,
                    topics: log.topics,
                    data: log.data,
                })
                .collect(),
        }
    }
}
