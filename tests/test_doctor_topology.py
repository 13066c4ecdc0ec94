"""The topology of a text of lspci: sockets without processors, empty slots, translation services."""

from fabric_machines import dual_socket
from pcielab.doctor import machine_of_text, topology


def test_without_processors_each_node_is_a_socket_and_the_topology_says_so() -> None:
    found = topology(machine_of_text(dual_socket(), "lspci.txt"))
    above = {position.name: position.upper for position in found.positions}
    assert above["stack 0000:97"] == "socket1"
    assert above["socket1"] == "sockets"
    assert found.assumed == ("no source shows sockets: each NUMA node is one",)
    assert "root port 0000:97:07.0" not in above, "its slot is empty"


def test_the_text_shows_whether_translation_services_are_on() -> None:
    text = dual_socket()
    for shown, known in ((text, False), (text.replace("Enable-, STU", "Enable+, STU"), True)):
        found = {one.ats_enabled for one in machine_of_text(shown, "lspci.txt").functions if one.is_endpoint}
        assert found == {known}
