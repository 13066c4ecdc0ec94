//! `pcielab-run` does what `pcielab run`, `devices`, `doctor` and `why` of a test or a NIC do, from files and without
//! Python: for machines that are only measured, or an initramfs. Reports are made elsewhere, from the store.

mod bench;
mod doctor;
mod failure;
mod input;
mod nic_question;
mod output;
mod profiles;
mod run;
mod test_options;
mod why;

use clap::{Parser, Subcommand};
use failure::Failure;
use pcie_refusal::Refusal;
use pcie_vfio::{Address, Purpose, Tree};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs a suite on a device or a simulated system into a store, examines a machine's links, or explains a simulated
/// rate, without Python.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  python -c 'from pcielab import load_suite; print(load_suite(\"nvme\").to_json())' > nvme.json   (where pcielab is)
  echo '{\"kind\": \"nvme\", \"address\": \"0000:3b:00.0\"}' > bench.json
  sudo pcielab-run bind 0000:3b:00.0 --user $USER
  pcielab-run run bench.json nvme.json -o drive.db
  sudo pcielab-run release 0000:3b:00.0
  sudo lspci -vvv | pcielab-run doctor -
  pcielab-run why --test bw-rd --size 64 --profile gen5-x16
  pcielab-run why --nic niantic-dpdk --line 100 --frame 64 --direction rx";

#[derive(Subcommand)]
enum Command {
    /// Run a suite into a store.
    Run(run::RunArguments),
    /// List the devices that can be measured, as JSON, with the obstacles for each.
    Devices,
    /// Bind a device to vfio-pci, or to no driver. Needs root.
    Bind {
        /// PCI address, for example 0000:3b:00.0.
        address: String,
        /// Leave it without a driver, for stores into its BARs (pio).
        #[arg(long)]
        unbound: bool,
        /// User who measures it.
        #[arg(long)]
        user: Option<String>,
        /// Print what was looked at and what holds the device, as JSON; bind nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Return a device to the driver that the kernel chooses. Needs root.
    Release {
        /// PCI address.
        address: String,
    },
    /// Find PCIe settings that cost a machine bandwidth or latency, worst first, with the modelled cost and a fix.
    Doctor(doctor::DoctorArguments),
    /// Say what binds a test on a simulated system or frames through a NIC, how sure that is, and what to change.
    Why(why::WhyArguments),
    /// Check a device against the contract of back ends; print one violation a line.
    Contract {
        /// The device, as for run.
        bench: PathBuf,
        /// Tests to try, as JSON.
        trial: PathBuf,
        /// Faults to inject, as JSON.
        #[arg(long)]
        faults: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    match carry_out(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("pcielab-run: {}", failure.message());
            failure.exit_code()
        }
    }
}

/// Prints what binding a device would look at; fails as binding would.
fn show_survey(address: Address, purpose: Purpose) -> Result<(), Failure> {
    let survey = pcie_vfio::survey(&Tree::here(), address, purpose)?;
    println!("{}", input::pretty(&survey.looks)?);
    survey.refusal.map_or(Ok(()), |refusal| Err(Refusal::new(refusal).into()))
}

fn carry_out(command: Command) -> Result<(), Failure> {
    let parse = |text: &str| text.parse::<Address>().map_err(Failure::from);
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Devices => {
            println!("{}", input::pretty(&pcie_vfio::devices(&Tree::here()))?);
            Ok(())
        }
        Command::Bind { address, unbound, user, dry_run } => {
            let purpose = if unbound { Purpose::Stores } else { Purpose::Vfio };
            if dry_run {
                return show_survey(parse(&address)?, purpose);
            }
            Ok(pcie_vfio::bind(&Tree::here(), parse(&address)?, purpose, user.as_deref())?)
        }
        Command::Release { address } => Ok(pcie_vfio::release(&Tree::here(), parse(&address)?)?),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Contract { bench, trial, faults } => run::contract(&bench, &trial, faults.as_deref()),
    }
}
