"""Two hundred hostile names: for terminals, pictures, pages, spreadsheets, shells and paths."""

_ONE_BY_ONE = [
    *range(0x20), 0x7F, *range(0x80, 0xA0),  # control characters
    0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF, 0xFDD0, 0xE000,  # noncharacters, and private use
    0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A),  # direction of writing
    0xAD, 0x34F, 0x180E, 0x200B, 0x200D, 0x2060, 0xFEFF, 0xFFFC, 0xE0041,  # zero width
    0xA0, 0x2028, 0x2029, 0x202F, 0x3000,  # blanks
]  # fmt: skip

_TERMINALS = [
    "\x1b]0;title\x07", "\x1b]2;title\x1b\\", "\x1b]8;;http://a.example\x1b\\here\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJmIH4=\x07", "\x1b]4;1;?\x07", "\x1b]1337;File=:AAAA\x07", "\x1b]777;notify;a;b\x07",
    "\x1b[2J", "\x1b[3J", "\x1b[H", "\x1b[1A\x1b[2K", "\x1b[6n", "\x1b[c", "\x1b[?1049h", "\x1b[?25l", "\x1b[8m",
    "\x1b[5m", "\x1b[31;1m", "\x1b[20T", "\x1b[9999b", "\x1b[?1000h", "\x1b[21t", "\x1bc", "\x1b(0", "\x1b#8",
    "\x1b7\x1b8", "\x1bP$q\"p\x1b\\", "\x1bPtmux;\x1b\x1b]0;a\x07\x1b\\", "\x1b_Ga=T;AAAA\x1b\\", "\x1b^pm\x1b\\",
    "\x1bXsos\x1b\\", "\x9b2J", "\x9d0;title\x9c", "\x90q\x9c", "\x0e", "real\rfake", "real\nerror: fake",
    "ab\x08\x08cd",
    "\x1b[200~", "a" + "\x07" * 50, "\x1b[>4;1m", "\x1b[18t", "\x1b[3g", "\x1b[?5h", "\x1b[0q", "\x1b]10;?\x07",
    "\x1b]50;?\x07", "\x1b[5i",
]  # fmt: skip

_PROGRAMS = [
    "</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=2>", "\"><svg onload=alert(1)>",
    "<!--", "]]>", "<?xml version='1.0'?>", "&#27;[2J", "{{ 7 * 7 }}", "{% raw %}", "${7*7}", "datum.x",
    "';alert(1)//",
    "\\u001b[2J", "javascript:alert(1)", "%s%n%d", "{0.__class__}", "{}", "%(name)s", "[bold]", "[/]", "[/bold]",
    "[link=http://a.example]a[/link]", ":skull:", "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "|calc",
    "'; DROP TABLE test;--",
    "\" OR 1=1", "$(reboot)", "`reboot`", "; rm -rf ~", "--help", "-o", "~root", "%00", "\\", "\\\\host\\share",
]  # fmt: skip

_PATHS = ["../up", "../../etc/passwd", "/etc/passwd", "C:\\a", "CON", "nul.txt", "a/b", ".", "..",
    "a" * 300, "ä" * 200, "e" + "\u0301" * 300, "\U0001f469\u200d\U0001f469\u200d\U0001f467", "مرحبا", "名" * 60,
]  # fmt: skip


def hostile_names() -> list[str]:
    """The names, each once."""
    named = [f"a{chr(one)}b" for one in _ONE_BY_ONE] + _TERMINALS + _PROGRAMS + _PATHS
    return list(dict.fromkeys(named))
