#![doc = include_str!("../README.md")]

mod abi;
mod amount;
mod drive;
mod gas;
mod id;
mod intent;
mod message;
mod order;
mod plan;
mod ports;
mod refused;
mod shared;
mod step;
mod store;
mod wallet_actions;

pub use gas_funding::GasFunding;
pub use id::{IntentId, InvalidIntentId};
pub use intent::{
    Allowance, At, Bridge, Expected, Hold, IllegalMove, Intent, Operation, State, Status, Step,
};
pub use order::{
    Action, BridgeOrder, Charge, DivestOrder, InvestOrder, Order, Principal, Size, SwapOrder,
    WithdrawOrder,
};
pub use plan::{DepositPlan, Idle, ListedProduct, Position, PrincipalRequest};
pub use ports::{
    Attested, BridgeAsk, BridgePlan, Burn, DepositAsk, PlanCause, PlanRefused, PlannedStep, Plans,
    PortFuture, SwapAsk, SwapPlan,
};
pub use refused::{FundsRequired, Refused};
pub use shared::{Pace, Parts};
pub use step::StepKind;
pub use storage::postgres::Condition;
pub use store::{
    CHARGED_WITHIN_SECONDS, Forbidden, Place, PostgresStore, SqliteStore, Store, StoreError,
    StoreFuture,
};
pub use wallet_actions::{GivenUp, WalletActions};

pub(crate) use shared::Shared;
