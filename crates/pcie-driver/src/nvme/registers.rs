//! The registers, opcodes and fields of NVMe in use (base specification 1.4, section 3.1).

pub(super) const CAP_LOW: u32 = 0x00;
pub(super) const CAP_HIGH: u32 = 0x04;
pub(super) const VERSION: u32 = 0x08;
pub(super) const CONFIGURATION: u32 = 0x14;
pub(super) const STATUS: u32 = 0x1c;
pub(super) const ADMIN_QUEUE_ATTRIBUTES: u32 = 0x24;
pub(super) const ADMIN_SUBMISSION_LOW: u32 = 0x28;
pub(super) const ADMIN_COMPLETION_LOW: u32 = 0x30;
/// BAR and offset of the controller memory buffer.
pub(super) const CMB_LOCATION: u32 = 0x38;
/// Its size and supported uses.
pub(super) const CMB_SIZE: u32 = 0x3c;
/// Its bus address and enable bits.
pub(super) const CMB_CONTROL_LOW: u32 = 0x50;
pub(super) const CMB_CONTROL_HIGH: u32 = 0x54;
pub(super) const DOORBELLS: u32 = 0x1000;

/// CAP, high word: there may be a controller memory buffer.
pub(super) const CAP_HIGH_CMBS: u32 = 1 << 25;
pub(super) const CMB_SIZE_SUBMISSION_QUEUES: u32 = 1;
pub(super) const CMB_SIZE_READ_DATA: u32 = 1 << 3;
pub(super) const CMB_SIZE_WRITE_DATA: u32 = 1 << 4;
pub(super) const CMB_REGISTERS_ENABLE: u32 = 1;
pub(super) const CMB_MEMORY_ENABLE: u32 = 2;

pub(super) const ENABLE: u32 = 1;
/// Entries of 64 and 16 bytes, pages of 4 KiB, the NVM command set.
pub(super) const ENABLED: u32 = 4 << 20 | 6 << 16 | ENABLE;
pub(super) const READY: u32 = 1;
pub(super) const FATAL: u32 = 2;

pub(super) const DELETE_SUBMISSION_QUEUE: u32 = 0x00;
pub(super) const CREATE_SUBMISSION_QUEUE: u32 = 0x01;
pub(super) const DELETE_COMPLETION_QUEUE: u32 = 0x04;
pub(super) const CREATE_COMPLETION_QUEUE: u32 = 0x05;
pub(super) const IDENTIFY: u32 = 0x06;

pub(super) const FLUSH: u32 = 0x00;
pub(super) const WRITE: u32 = 0x01;
pub(super) const READ: u32 = 0x02;
pub(super) const COMPARE: u32 = 0x05;
pub(super) const DATASET_MANAGEMENT: u32 = 0x09;
pub(super) const VERIFY: u32 = 0x0c;

/// Dataset Management: deallocate the ranges.
pub(super) const DEALLOCATE: u32 = 1 << 2;

/// ONCS, optional commands of the controller.
pub(super) const ONCS_COMPARE: u32 = 1;
pub(super) const ONCS_DATASET_MANAGEMENT: u32 = 1 << 2;
pub(super) const ONCS_VERIFY: u32 = 1 << 7;

/// Status type and code of a failed compare.
pub(super) const COMPARE_FAILURE: u16 = 0x285;
